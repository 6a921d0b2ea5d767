"""Networks whose penultimate activations can be computed.

A network of torchvision is added here; its weights get a name in the configuration.
"""

# By the name in torchvision: the attribute that holds the last linear layer, which is cut off.
ARCHITECTURES = {"resnet18": "fc", "resnet34": "fc", "resnet50": "fc"}
