"""What of a dataset is shown: selections, series, rankings. Plain data."""
