"""Links of a topic to other processes, one package for each backend."""
