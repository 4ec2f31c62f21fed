"""Agent Skills: checked to the letter, rewritten to conform, pinned in collections, served through MCP."""
