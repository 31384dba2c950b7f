"""Topics of messages in a container (MCAP, bags) as series."""
