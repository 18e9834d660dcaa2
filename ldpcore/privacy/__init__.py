"""What a privacy claim means, whether it is kept, and what an attacker can do."""
