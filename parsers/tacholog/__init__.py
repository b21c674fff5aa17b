"""Tacholog: publish/subscribe benchmark logs in, performance documentation that can be trusted out."""
