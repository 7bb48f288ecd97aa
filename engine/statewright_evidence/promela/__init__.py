"""A second opinion: the tables in Promela, checked by SPIN (https://spinroot.com), and compared with our own explorer."""
