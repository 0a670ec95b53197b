"""What a person sees of a scene in space: in a report, and live in a browser."""
