"""Small models, corpora and runs that tests share."""
