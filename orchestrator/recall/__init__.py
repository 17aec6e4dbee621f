"""Which memories belong to a question: ``words`` makes the full-text query of any text, ``ranking`` joins what was
found by words and by meaning, ``block`` writes the best as data into a prompt. Pure: the store
searches."""
