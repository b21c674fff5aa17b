"""Quality marks on columns: of single records, across results, and for latencies between two clocks."""
