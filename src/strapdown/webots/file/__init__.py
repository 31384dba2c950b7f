"""World and PROTO files: syntax, node types, checks."""
