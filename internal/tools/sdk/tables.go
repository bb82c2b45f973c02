package main

// selected are the schemas that methods of the SDK name. Those that they refer to are added.
var selected = []string{
	"Account", "Alert", "Analysis", "Answer", "AnswerQuery", "BatchResult", "CascadeEdges", "Change", "Command", "CommandResult",
	"CommandState", "CreateEdge", "CreateNode", "DeletedDocument", "Document", "Edge", "ErrorDetails", "HybridHit",
	"HybridQuery", "IndexStatus", "IngestResult", "ListedRuleFile", "Neighbor", "NewAnalysis", "NewDocument", "NewSource",
	"NewWebhook", "Node", "Path", "Point", "PointRows", "PointSeries", "PointsDeletion", "Precision", "Problem",
	"PutDocumentResult", "RuleFile", "SearchHit", "SearchQuery", "Series", "Source", "SourcePatch", "StoredRuleFile",
	"UpdateEdge", "UpdateNode", "Webhook", "WebhookDelivery", "WebhookPatch", "WebhookWithSecret",
}

// named are schemas inside others, by their paths, with their names. [] are the items of an array. Paths that share
// a name have the same fields.
var named = map[string]string{
	"AccountWorkspace.limits":       "AccountLimits",
	"AccountWorkspace.left":         "AccountRemaining",
	"Alert.state":                   "AlertState",
	"Analysis.state":                "AnalysisState",
	"AnswerQuery.direction":         "Direction",
	"AnswerQuery.mode":              "AnswerMode",
	"BatchResult.results[]":         "BatchItem",
	"Change.target":                 "CommandTarget",
	"CommandResult.affected":        "Affected",
	"CommandResult.affected.counts": "AffectedCounts",
	"CommandResult.target":          "CommandTarget",
	"DeleteDocumentAnswer.data":     "DeletedDocument",
	"HybridHit.scores":              "HybridScores",
	"HybridQuery.direction":         "Direction",
	"IndexStatus.lag":               "IndexLag",
	"IndexStatus.links":             "IndexLinks",
	"IndexStatus.nodes":             "IndexNodes",
	"IndexStatus.text":              "TextIndexStatus",
	"IndexStatus.text.lag":          "IndexLag",
	"IngestAnswer.data":             "IngestResult",
	"PointsDeletionAnswer.data":     "PointsDeletion",
	"PutRuleFileAnswer.data":        "StoredRuleFile",
	"RuleFileAnswer.data":           "RuleFile",
	"SearchHit.scores":              "SearchScores",
	"WebhookEvents[]":               "WebhookEventType",
	"CommandState.result":           "CommandOutcome",
}

// renamed are schemas that have another name in Go.
var renamed = map[string]string{
	"CreateEdge": "NewEdge", "CreateNode": "NewNode", "Kind": "ValueKind", "UpdateEdge": "EdgePatch",
	"UpdateNode": "NodePatch",
}

// written are the types that are written by hand in sdk/go.
var written = []string{"Properties", "CommandOutcome"}

// patches are merge patches. A field of them is absent, null or a value.
var patches = map[string]bool{"SourcePatch": true, "UpdateEdge": true, "UpdateNode": true, "WebhookPatch": true}

// zeroIsAbsent are optional numbers that are never 0, although their schemas have no minimum.
var zeroIsAbsent = map[string]bool{
	"ErrorDetails.limit": true, "ErrorDetails.line": true, "ErrorDetails.expectedVersion": true,
	"ErrorDetails.actualVersion": true, "ErrorDetails.accepted": true, "ErrorDetails.rejected": true,
}

// comments describe the schemas that have no description.
var comments = map[string]string{
	"Account":              "A key with its scopes and its workspaces.",
	"AccountWorkspace":     "A workspace of a key.",
	"Affected":             "has the resources that a command changed: at most 1,000 ids of each kind.",
	"AffectedCounts":       "has the numbers of resources that a command changed.",
	"Alert":                "An active alert of a rule.",
	"AlertState":           "The state of an alert.",
	"Analysis":             "An analysis of the graph.",
	"AnalysisResult":       "has the summary of an analysis. It is absent in lists, and until it is computed.",
	"AnalysisAlgorithm":    "The algorithm of an analysis.",
	"AnalysisDirection":    "The edges of a node that an analysis uses.",
	"AnalysisState":        "The state of an analysis.",
	"AnalyzedGroup":        "A component or a community.",
	"AnalyzedNode":         "A node with its degree or rank.",
	"NewAnalysis":          "An analysis of the graph to create.",
	"Answer":               "has the sentences that answer a question, with their sources.",
	"AnswerCitation":       "A node or a document that is cited by an answer.",
	"AnswerQuery":          "A question.",
	"AnswerSentence":       "A sentence of an answer.",
	"AnswerMode":           "The way in which an answer is made.",
	"GeneratedAnswer":      "has what is known about a text by the chat model.",
	"GeneratedSentence":    "A sentence of a text by the chat model.",
	"BatchItem":            "The result of one command of a batch.",
	"BatchResult":          "has the results of a batch, in the order of its commands.",
	"Command":              "A change of the graph. [CreateNode] and the functions beside it create commands.",
	"CommandResult":        "The effect of a command.",
	"CommandState":         "The state of a command or a batch.",
	"CommandTarget":        "A command that was undone or redone.",
	"CommandType":          "The type of a command.",
	"CreateEdge":           "An edge to create. ID is optional.",
	"CreateNode":           "A node to create. ID is optional.",
	"DeletedDocument":      "The result of the deletion of a document.",
	"Direction":            "The direction in which edges are followed.",
	"Document":             "A document without its text.",
	"DocumentPassage":      "A part of the text of a document, which is a node.",
	"Edge":                 "A relation from a node, the source, to another, the target.",
	"EntityType":           "The type of a node.",
	"ErrorDetails":         "is what caused an error. Fields that do not apply are zero.",
	"GraphConflict":        "is what blocks an undo or a redo.",
	"HitDocument":          "The document that the node is, or is a passage of.",
	"HybridHit":            "A result of a search that follows edges.",
	"HybridQuery":          "A search that follows edges.",
	"IndexLag":             "is what is not indexed yet.",
	"IndexNodes":           "has the numbers of nodes in the index.",
	"IndexStatus":          "The status of the index of a workspace.",
	"IngestResult":         "The result of a request with points. Accepted points are durable.",
	"ListedRuleFile":       "A file of rules without its text.",
	"LiveValue":            "The latest value of a series.",
	"Neighbor":             "A node that is reachable from another one, with the edges that lead to it.",
	"NewSource":            "A source to create.",
	"NewWebhook":           "A webhook to create.",
	"Node":                 "An entity of the graph.",
	"Point":                "A value of a series. The source is given by its name or its id.",
	"PointSeries":          "has points of one series as columns.",
	"PointsDeletion":       "describes the points that were deleted.",
	"Problem":              "The error of one command of a batch. Its method Err returns it as an error.",
	"PutDocumentResult":    "is what a request changed of a document.",
	"Reindex":              "The progress of a rebuild of the index.",
	"RuleFile":             "A file of rules.",
	"RuleProblem":          "A mistake in a file of rules.",
	"Scope":                "A permission of a key.",
	"SearchHit":            "A result of a search.",
	"SearchQuery":          "A search by words and by meaning.",
	"Series":               "A series with the number of its points.",
	"Source":               "A source of points.",
	"SourceMetric":         "A description of a metric.",
	"SourcePatch":          "has the changes of a source. Fields that are not set do not change. Tags are merged.",
	"Step":                 "is one change of a resource in a batch.",
	"Rejection":            "describes points that were rejected for one reason. The fields are those of the first of them.",
	"StoredRuleFile":       "A file of rules that was stored, or checked: then it has no version and no times.",
	"AccountLimits":        "has the limits of a workspace; nil is unlimited.",
	"AccountRemaining":     "is what remains of the limits of a workspace; nil is unlimited.",
	"UpdateNode":           "has the changes of a node. Fields that are not set do not change. Properties are merged.",
	"UpdateEdge":           "has the changes of an edge. Fields that are not set do not change. Properties are merged.",
	"WebhookDeliveryState": "The state of a delivery. Failed: no further attempt follows.",
	"Webhook":              "An address to which events are sent.",
	"WebhookDelivery":      "An event that is, or was, sent to a webhook.",
	"WebhookEventType":     "The type of an event.",
	"WebhookPatch":         "has the changes of a webhook. Fields that are not set do not change. Labels are merged.",
	"WebhookWithSecret":    "A webhook with its secret.",
}
