"""A server for the Skills extension of the Model Context Protocol (SEP-2640), read only."""
