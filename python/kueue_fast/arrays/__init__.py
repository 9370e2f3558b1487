"""The border: names become indices, changed objects become rows, decision rows become objects again."""
