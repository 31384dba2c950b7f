from .allan import AllanAccumulator as AllanAccumulator
