"""A study: config, plan, journal, runner."""
