"""What happens to a formula, end to end: hops (the only file that chains them), checking, tuning, profiling."""
