"""When PX4 reads messages, and where its windows end."""
