"""Live data: recorder, player, relay, fusion and pipelines."""
