"""Ids and tensors: the store, the plan of batches, the batch."""
