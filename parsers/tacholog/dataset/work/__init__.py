"""Reading many logs: what the cache keeps is taken from it, and the rest is read, in this process, in several, or on a cluster."""
