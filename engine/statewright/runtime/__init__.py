"""What acts: runs are driven, their effects performed, people asked, observers informed."""
