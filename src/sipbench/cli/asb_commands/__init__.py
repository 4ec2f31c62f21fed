"""The commands of `asb`, one module each; what they need is imported when they are called."""
