"""What runs on the phone, and how the server reads what it sends."""
