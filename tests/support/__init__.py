"""What tests are made from: fixtures that start parts of the product, fakes at its edges, servers that misbehave."""
