"""What acts: runs are pumped, their commands carried out, people asked, observers told."""
