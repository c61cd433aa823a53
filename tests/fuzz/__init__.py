"""Property tests over arbitrary bytes and text: every reader, translate, score and prepare."""
