"""Where the processes of a campaign run: this machine, or hosts over ssh; the link between them, and their clocks."""
