"""Adaptations: what makes an agent state out of adapt attempts."""
