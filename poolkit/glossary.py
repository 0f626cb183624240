"""What the words on a page mean: columns of tables, measures, and a few lines for newcomers."""

import re
from collections.abc import Mapping

from poolkit.plain import named

MEASURES = {
    "nDCG": "how well the top is ordered, against the best order that the judged documents allow: 0 to 1",
    "P": "share of the top documents that are relevant",
    "R": "share of all judged relevant documents that are in the top",
    "AP": "average precision: precision at each relevant document, averaged over all relevant ones",
    "RR": "1 over the rank of the first relevant document",
    "RBP": "rank-biased precision: relevance seen by a reader who stops at random",
    "Judged": "share of the top documents that have a grade",
}
COLUMNS = {
    "fact": "what is counted or named", "value": "its count or name",
    "quantity": "what is measured; a page of its own tells more of each",
    "the_paper,_for_reference": "what the paper behind the method (arXiv 2609.02745) gives for its own collections",
    "meaning": "what the quantity says",
    "collection": "folder of the collection",
    "system": "name of a run",
    "systems": "how many systems", "families": "how many families of systems",
    "queries": "how many queries; beside a pair of systems: how many would tell the two apart",
    "first_grade": "grade that the judge gave first",
    "query_id": "the query's id", "query": "the query's text", "doc_id": "the document's id",
    "family": "systems with a common origin, from systems.csv",
    "independent": "judgments needed if every system were judged by itself",
    "pool": "different query-document pairs: each is judged once",
    "reuse": "share of the judgments that pooling saves",
    "cost_factor": "how many times as much judging system by system would cost",
    "depth": "ranks that each run gives to the pool",
    "new": "documents that no earlier system brought",
    "unique_to_system": "documents that no other system brought",
    "unique_to_family": "documents that no other family brought",
    "places": "places within the depth that only the tie rule fills",
    "unique": "different documents so far, or those that nobody else brought",
    "share": "new documents as a share of those returned; or a share of all draws, orders or differences",
    "returned": "documents within the depth",
    "contributed": "pooled documents that the system returned",
    "rho": "Spearman's rank correlation of two orders of the systems: 1 is the same order",
    "tau": "Kendall's tau-b: pairs in the same order less pairs in the other, corrected for ties",
    "tau_ap": "tau-AP: as tau, but the top of the order weighs more",
    "pairs": "how many query-document pairs",
    "pairs_same": "pairs of systems in the same order on both sides, of all",
    "pairs_in_same_order": "share of the pairs of systems that both put in the same order",
    "measure": "the score that systems are compared by",
    "differ": "pairs of systems that the two sides order differently",
    "within_noise": "of those that differ, pairs of systems that {human} could not call on these queries",
    "within_noise_share": "the same as a share of those that differ",
    "conflicts": "pairs of systems that {human} can call and {judge} orders the other way",
    "best": "the system of the highest mean",
    "best_under": "the labels under which it is the best",
    "beside_best": "systems that these queries cannot tell from the best, Holm's correction included",
    "pairs_of_systems": "how many pairs of systems",
    "preserved": "share of all pairs of systems that are not in conflict",
    "flips": "reversals of two systems, over all families or systems left out in turn; a pair may count more than once",
    "near_ties": "of the flips, pairs of systems closer than the near-tie gap: a coin's throw apart",
    "near_tie": "closer than the near-tie gap: a coin's throw apart",
    "largest_penalty": "largest loss of a system's mean when its family is left out",
    "largest": "largest loss of a mean",
    "flips_repaired": "flips that remain once the missing documents are judged again",
    "difference_repaired": "largest difference of a mean from the full pool's then",
    "orders_with_reversal": "share of random orders of arrival in which some pair stood the other way for a while",
    "certified": "share of pairs of systems whose order no later system can change; or such a pair",
    "kappa": "Cohen's kappa: agreement of grades beyond chance, 1 is perfect",
    "repeat_exact": "share of query-document pairs that get the same grade when judged again",
    "exact": "share of query-document pairs with the same grade on both sides",
    "binary": "share of query-document pairs on the same side of relevance",
    "labels": "name of the file of labels, in qrels/ or judgments/; the page Judge lists all",
    "title": "what the pages call these labels",
    "kind": "qrels: labels that came with the collection; judge: a model's, from judgments/",
    "about": "where these labels come from, as collection.toml says",
    "judged": "query-document pairs with a grade",
    "failed": "query-document pairs whose reply could not be read as a grade; none of them counts as a grade",
    "unjudged": "query-document pairs, or share of documents read, without a grade: not relevant to most measures",
    "unjudged_full": "the same with all labels kept",
    "beyond_the_pool": "grades of query-document pairs that no system returned within the depth",
    "holes": "documents in the top ranks that have no grade",
    "a": "the system ahead under {human}, or named first",
    "b": "the other system",
    "better": "the system ahead in the full, final pool",
    "worse": "the other system",
    "order": "whether both sides put the pair in the same order",
    "order_or_verdict": "the order under both sides; of different ones, how close, and what resampled queries say",
    "verdict": "what resampled queries say of the pair, in the words of the caption",
    "human": "under {human}: score, grade, count, or difference of means, with its interval where it has one",
    "judge": "under {judge}: score, grade, count, or difference of means, with its interval where it has one",
    "human_a": "score of a under {human}", "human_b": "score of b under {human}",
    "judge_a": "score of a under {judge}", "judge_b": "score of b under {judge}",
    "human_all": "relevant documents among all labels of {human}",
    "judge_all": "relevant documents among all labels of {judge}",
    "graded": "pairs of the query that both sides graded",
    "graded_by_both": "query-document pairs that these labels and the judge graded",
    "grade": "grade on the collection's scale",
    "human_share": "share of the pairs that have this grade under {human}",
    "judge_share": "share of the pairs that have this grade under {judge}",
    "recall": "of the pairs with this grade under {human}, the share with the same under {judge}",
    "human_rel": "grade from which a document counts as relevant under {human}",
    "judge_rel": "grade from which a document counts as relevant under {judge}",
    "human_barren": "queries that then have no relevant document under {human}",
    "judge_barren": "queries that then have no relevant document under {judge}",
    "percent": "how much higher the mean is under {judge}, in percent of that under {human}",
    "human_p": "share of resamples of queries in which a is above b, under {human}",
    "judge_p": "share of resamples of queries in which a is above b, under {judge}",
    "contribution": "difference of a and b under {judge} less that under {human}, on this query",
    "rank_a": "rank in a's list; a dash: beyond the cutoff",
    "rank_b": "rank in b's list; a dash: beyond the cutoff",
    "mean": "mean over queries",
    "full": "mean with all labels", "left_out": "mean with the own family left out of the pool",
    "penalty": "what the system loses: full less left out",
    "ahead": "the system ahead as observed", "behind": "the other system",
    "deviation": "standard deviation of the difference over queries",
    "difference": "difference of two means, with its interval where it has one",
    "p": "how often resampled queries contradict the difference; small is surer",
    "p_holm": "the same p after Holm's correction for all comparisons; only this one decides",
    "in_set": "yes: these queries cannot tell it from the best",
    "factor": "column of systems.csv in which the matched systems differ",
    "from_level": "the factor's value that is left",
    "to_level": "the factor's value that is taken",
    "of": "factor whose effect is taken at two levels of another",
    "level_a": "level of the other factor at which the effect is taken off",
    "level_b": "level of the other factor at which the effect is taken",
    "n_settings": "matched settings behind the difference",
    "cost": "the column of systems.csv that is weighed; less is better",
    "pareto": "yes: no other system is as good and as cheap, and better in one",
    "n_pairs": "matched pairs of systems behind the difference",
    "gap": "difference of two means now",
    "gap_left_out": "the same with the family left out; negative: turned round",
    "better_own": "whether the system ahead is of the family left out",
    "worse_own": "whether the other system is of the family left out",
    "group": "what is left out of the pool",
    "final_gap": "difference of the two means in the final pool",
    "orders": "random orders of arrival in which the pair stood the other way for a while",
    "widest": "how far the pair ever stood the other way",
    "reversed": "pairs of systems that stand the other way than finally",
    "least": "least value the gap can take, whatever is added; above 0: certified",
    "greatest": "greatest value the gap can take",
    "status": "certified: no later system can turn the pair; open: some could; tied: equal now",
    "smallest": "least number of further relevant documents per query that could turn the pair",
    "turned": "share of simulated worlds in which the pair changes order",
    "barren": "queries without a relevant document",
    "usd": "dollars, where a price is known",
    "unpriced": "calls whose price is unknown, which the dollars leave out",
    "usd_per_grade": "mean dollars a grade",
    "model": "model that gave the grades", "day": "day of the replies, in UTC", "judgments": "grades and failures",
    "by": "what the failures are counted by", "which": "the kind, system or query that failed",
    "calls": "requests sent to the judge's endpoint",
    "tokens_in": "input tokens", "tokens_cached": "input tokens billed as cached", "tokens_out": "output tokens",
    "relevant": "with a grade above 0",
}  # fmt: skip
ENDS = {
    " all 0": " were every failed and unjudged document of grade 0",
    " all top": " were every failed and unjudged document of the top grade",
}
PATTERNS = {
    r"grade -?\d+": "share of the graded pairs that have this grade",
    r"-?\d+": "pairs with this grade when judged again",
    r"collection .*": "the quantity in this collection",
}
NEWCOMERS = (
    ("System", "one way of searching; a family is a group of systems that share an origin."),
    ("Pool", "the top documents of all systems together. Each is graded once, for all systems."),
    ("Grade", "how well a document answers a query, on a short scale that starts at 0, not relevant."),
    ("Judge", "a language model with a prompt. Reference labels are what it is compared with; each page calls "
     "them by their own name."),
    ("nDCG@10", "a score from 0 to 1 for the order of the ten top documents. P, R and AP are others."),
    ("0.61 [0.57, 0.65]", "a value and its interval, of 95 % unless a caption says another: where it would lie with "
     "other queries of this kind. Where intervals overlap widely, the queries cannot tell two systems apart."),
    ("rho, tau", "how alike two orders of the systems are: 1 is the same order, 0 is chance."),
    ("poolkit judge DATA", "a command for a terminal. DATA is the folder of this collection."),
)  # fmt: skip


def words(column: object, sides: Mapping[str, str] | None = None) -> str:
    """Head of a column: its name in words, the two sides by the titles of their labels.

    Examples
    --------
    >>> words("nDCG@10 human", {"human": "author grades"}), words("p_holm")
    ('nDCG@10 author grades', 'p holm')
    """
    text = str(column).replace("_", " ")
    for side, title in (sides or {}).items():
        text = re.sub(rf"\b{side}\b", named(title).replace("\\", r"\\"), text)
    return text


def meaning(column: object, sides: Mapping[str, str] | None = None) -> str:
    """What a column holds, in a line; empty where its name says it all."""
    name = str(column)
    said = COLUMNS.get(name.replace(" ", "_"), "")
    found = re.fullmatch(r"(\w+?)(\(.*\))?(@\d+)?( human| judge)?( all 0| all top)?", name)
    if not said and found and found[1] in MEASURES:
        said = (
            MEASURES[found[1]] if not found[5] else f"{words(name[: found.start(5)], sides)}{ENDS[found[5]]}"
        )
    for pattern, told in PATTERNS.items():
        said = said or (told if re.fullmatch(pattern, name) else "")
    both = {"human": "the reference labels", "judge": "the judge"} | dict(sides or {})
    return said.replace("{human}", named(both["human"])).replace("{judge}", named(both["judge"]))
