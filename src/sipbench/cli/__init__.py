"""The commands, thin: parse, call, print."""
