"""A server of the controller protocol of Webots R2025a."""
