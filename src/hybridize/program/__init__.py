"""Modules -> program: scopes, imports across files, lowering of the syntax tree to the intermediate representation."""
