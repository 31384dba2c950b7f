"""Going back through the samples of a foot."""
