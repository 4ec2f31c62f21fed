"""The commands of `sip`, one module each; what they need is imported when they are called."""
