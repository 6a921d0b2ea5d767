# Files of removals, networks and subsets.


def of_removal(pattern):
    """The paths of a pattern for every experiment from which training points are removed."""
    return expand(pattern, experiment=plan.removal_experiments())


def of_networks(pattern):
    """The paths of a pattern with {} for each network over which attributions are averaged."""
    return [pattern.format(network) for network in range(config["retraining"]["networks"])]


def of_removed_shares(pattern):
    """The paths of a pattern with {} for each removed share, 0 included."""
    return [pattern.format(share) for share in (0, *config["retraining"]["removal"]["shares"])]


def of_subset_parts(pattern):
    """The paths of a pattern with {} for each part of the random subsets."""
    return [pattern.format(part) for part in range(config["retraining"]["subsets"]["parts"])]
