// Code generated from schemas/openapi.yaml by internal/tools/sdk with oapi-codegen. DO NOT EDIT.

package livegraph

import (
	"time"
)

// Defines values for AlertState.
const (
	AlertStateFiring  AlertState = "firing"
	AlertStatePending AlertState = "pending"
)

// Defines values for AlertmanagerAuthorizationType.
const (
	AlertmanagerAuthorizationTypeBasic  AlertmanagerAuthorizationType = "basic"
	AlertmanagerAuthorizationTypeBearer AlertmanagerAuthorizationType = "bearer"
)

// Defines values for AnalysisAlgorithm.
const (
	AnalysisAlgorithmCommunities AnalysisAlgorithm = "communities"
	AnalysisAlgorithmComponents  AnalysisAlgorithm = "components"
	AnalysisAlgorithmDegree      AnalysisAlgorithm = "degree"
	AnalysisAlgorithmPagerank    AnalysisAlgorithm = "pagerank"
)

// Defines values for AnalysisDirection.
const (
	AnalysisDirectionBoth AnalysisDirection = "both"
	AnalysisDirectionIn   AnalysisDirection = "in"
	AnalysisDirectionOut  AnalysisDirection = "out"
)

// Defines values for AnalysisState.
const (
	AnalysisStateCancelled AnalysisState = "cancelled"
	AnalysisStateDone      AnalysisState = "done"
	AnalysisStateFailed    AnalysisState = "failed"
	AnalysisStateQueued    AnalysisState = "queued"
	AnalysisStateRunning   AnalysisState = "running"
)

// Defines values for AnswerMode.
const (
	AnswerModeExtract  AnswerMode = "extract"
	AnswerModeGenerate AnswerMode = "generate"
)

// Defines values for CommandType.
const (
	CommandTypeCreateEdge CommandType = "CREATE_EDGE"
	CommandTypeCreateNode CommandType = "CREATE_NODE"
	CommandTypeDeleteEdge CommandType = "DELETE_EDGE"
	CommandTypeDeleteNode CommandType = "DELETE_NODE"
	CommandTypeRedo       CommandType = "REDO"
	CommandTypeUndo       CommandType = "UNDO"
	CommandTypeUpdateEdge CommandType = "UPDATE_EDGE"
	CommandTypeUpdateNode CommandType = "UPDATE_NODE"
	CommandTypeUpsertEdge CommandType = "UPSERT_EDGE"
	CommandTypeUpsertNode CommandType = "UPSERT_NODE"
)

// Defines values for Direction.
const (
	DirectionBoth Direction = "both"
	DirectionIn   Direction = "in"
	DirectionOut  Direction = "out"
)

// Defines values for EntityType.
const (
	EntityTypeActor   EntityType = "actor"
	EntityTypeConcept EntityType = "concept"
	EntityTypeObject  EntityType = "object"
	EntityTypeProcess EntityType = "process"
)

// Defines values for FacetName.
const (
	FacetNameEntityType FacetName = "entityType"
	FacetNameTags       FacetName = "tags"
	FacetNameTimestamp  FacetName = "timestamp"
)

// Defines values for Precision.
const (
	PrecisionMs Precision = "ms"
	PrecisionNs Precision = "ns"
	PrecisionS  Precision = "s"
	PrecisionUs Precision = "us"
)

// Defines values for SavedQueryKind.
const (
	SavedQueryKindAnswer       SavedQueryKind = "answer"
	SavedQueryKindHybridSearch SavedQueryKind = "hybrid-search"
	SavedQueryKindSearch       SavedQueryKind = "search"
)

// Defines values for Scope.
const (
	ScopeAdmin         Scope = "admin"
	ScopeReadEdges     Scope = "read:edges"
	ScopeReadLivedata  Scope = "read:livedata"
	ScopeReadNodes     Scope = "read:nodes"
	ScopeWriteEdges    Scope = "write:edges"
	ScopeWriteLivedata Scope = "write:livedata"
	ScopeWriteNodes    Scope = "write:nodes"
)

// Defines values for UpsertEffect.
const (
	UpsertEffectCreated   UpsertEffect = "created"
	UpsertEffectUnchanged UpsertEffect = "unchanged"
	UpsertEffectUpdated   UpsertEffect = "updated"
)

// Defines values for ValueKind.
const (
	ValueKindNumber ValueKind = "number"
	ValueKindString ValueKind = "string"
)

// Defines values for WebhookDeliveryState.
const (
	WebhookDeliveryStateDelivered WebhookDeliveryState = "delivered"
	WebhookDeliveryStateFailed    WebhookDeliveryState = "failed"
	WebhookDeliveryStatePending   WebhookDeliveryState = "pending"
)

// Defines values for WebhookEventType.
const (
	WebhookEventTypeAlertFiring   WebhookEventType = "alert.firing"
	WebhookEventTypeAlertResolved WebhookEventType = "alert.resolved"
	WebhookEventTypeCommandsDead  WebhookEventType = "commands.dead"
	WebhookEventTypeEdgeCreated   WebhookEventType = "edge.created"
	WebhookEventTypeEdgeDeleted   WebhookEventType = "edge.deleted"
	WebhookEventTypeEdgeUpdated   WebhookEventType = "edge.updated"
	WebhookEventTypeKeyCreated    WebhookEventType = "key.created"
	WebhookEventTypeKeyRevoked    WebhookEventType = "key.revoked"
	WebhookEventTypeNodeCreated   WebhookEventType = "node.created"
	WebhookEventTypeNodeDeleted   WebhookEventType = "node.deleted"
	WebhookEventTypeNodeUpdated   WebhookEventType = "node.updated"
	WebhookEventTypePointsDead    WebhookEventType = "points.dead"
)

// Account is a key with its scopes and its workspaces.
type Account struct {
	KeyID string `json:"keyId"`
	Name  string `json:"name"`

	// The part of the key that may be displayed.
	Display string `json:"display"`

	// One of: live, test.
	Mode   string  `json:"mode"`
	Scopes []Scope `json:"scopes"`

	// The actor, who has the undo stack. The successor of a rolled key has the same actor.
	ActorID    string             `json:"actorId"`
	ExpiresAt  time.Time          `json:"expiresAt"`
	Workspaces []AccountWorkspace `json:"workspaces"`
}

// AccountLimits has the limits of a workspace; nil is unlimited.
type AccountLimits struct {
	RequestsPerMinute *int `json:"requestsPerMinute"`
	RequestsPerDay    *int `json:"requestsPerDay"`
	Sources           int  `json:"sources"`
	Series            int  `json:"series"`
}

// AccountRemaining is what remains of the limits of a workspace; nil is unlimited.
type AccountRemaining struct {
	RequestsThisMinute *int `json:"requestsThisMinute"`
	RequestsToday      *int `json:"requestsToday"`
	Sources            int  `json:"sources"`
	Series             int  `json:"series"`
}

// AccountWorkspace is a workspace of a key.
type AccountWorkspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	// One of: starter, pro, enterprise.
	Plan   string           `json:"plan"`
	Limits AccountLimits    `json:"limits"`
	Left   AccountRemaining `json:"left"`
}

// Affected has the resources that a command changed: at most 1,000 ids of each kind.
type Affected struct {
	Nodes  []string       `json:"nodes"`
	Edges  []string       `json:"edges"`
	Counts AffectedCounts `json:"counts"`
}

// AffectedCounts has the numbers of resources that a command changed.
type AffectedCounts struct {
	Nodes int `json:"nodes"`
	Edges int `json:"edges"`
}

// Alert is an active alert of a rule.
type Alert struct {
	State AlertState `json:"state"`
	Name  string     `json:"name"`

	// Without the name.
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`

	// A number as text, such as 9.5e+01, NaN or +Inf.
	Value    string    `json:"value"`
	ActiveAt time.Time `json:"activeAt"`
	File     string    `json:"file"`
	Group    string    `json:"group"`
}

// AlertState is the state of an alert.
type AlertState string

// Alertmanager is an Alertmanager to which alerts are sent, without its secrets.
type Alertmanager struct {
	URL           string                     `json:"url"`
	Authorization *AlertmanagerAuthorization `json:"authorization"`

	// Further headers of requests, whose values are stored.
	Headers []AlertmanagerHeader `json:"headers"`

	// When anything of the Alertmanager was changed last, also a secret.
	UpdatedAt time.Time `json:"updatedAt"`

	// When it last accepted alerts; null if it never has.
	LastSentAt time.Time `json:"lastSentAt"`

	// When a request to it last failed since the last change; null if none has.
	LastFailedAt time.Time `json:"lastFailedAt"`

	// Why the last request failed, such as `an Alertmanager answers 401`; null if it succeeded, or if there was none
	// since the last change.
	LastError string `json:"lastError"`
}

// AlertmanagerAuthorization is the credentials without their secret, which is stored; null if there are none.
type AlertmanagerAuthorization struct {
	Type AlertmanagerAuthorizationType `json:"type"`

	// Null with the type `bearer`.
	Username string `json:"username"`
}

// AlertmanagerAuthorizationType is the type of an authorization.
type AlertmanagerAuthorizationType string

// AlertmanagerHeader is a header of requests to an Alertmanager, without its value.
type AlertmanagerHeader struct {
	Name string `json:"name"`
}

// Analysis is an analysis of the graph.
type Analysis struct {
	ID            string            `json:"id"`
	Algorithm     AnalysisAlgorithm `json:"algorithm"`
	EntityTypes   []EntityType      `json:"entityTypes"`
	RelationTypes []string          `json:"relationTypes"`
	Weight        string            `json:"weight"`

	// `out`, `in` or `both`. null: the algorithm has none.
	Direction string `json:"direction"`

	// null: the algorithm has none.
	Damping  *float64      `json:"damping"`
	Property string        `json:"property"`
	State    AnalysisState `json:"state"`

	// What the current run does, or the last one did: `reading`, `computing` or `writing`. null: none has begun.
	Phase string `json:"phase"`

	// The sequence of the graph that was read.
	Sequence *int64 `json:"sequence"`

	// Number of nodes that were read.
	Nodes int64 `json:"nodes"`

	// Number of edges that were read.
	Edges int64 `json:"edges"`

	// Number of nodes to which a value was written.
	Written int64 `json:"written"`

	// Number of nodes that had the value already.
	Unchanged int64 `json:"unchanged"`

	// Number of nodes that were changed or deleted after they were read, or that have no space for the property.
	Skipped int64 `json:"skipped"`

	// Why the analysis failed.
	Error      string          `json:"error"`
	CreatedAt  time.Time       `json:"createdAt"`
	StartedAt  time.Time       `json:"startedAt"`
	FinishedAt time.Time       `json:"finishedAt"`
	Result     *AnalysisResult `json:"result,omitempty"`
}

// AnalysisAlgorithm is the algorithm of an analysis.
type AnalysisAlgorithm string

// AnalysisDirection is the edges of a node that an analysis uses.
type AnalysisDirection string

// AnalysisResult has the summary of an analysis. It is absent in lists, and until it is computed.
type AnalysisResult struct {
	// The nodes with the highest degrees or ranks.
	Top []AnalyzedNode `json:"top"`

	// The largest components or communities.
	Groups []AnalyzedGroup `json:"groups"`

	// Number of all components or communities.
	GroupCount *int `json:"groupCount"`

	// Number of iterations of PageRank, at most 1,000.
	Iterations *int `json:"iterations"`

	// Whether the errors of all ranks sum to at most 1e-10.
	Converged bool `json:"converged"`

	// Modularity of the communities.
	Modularity *float64 `json:"modularity"`
}

// AnalysisState is the state of an analysis.
type AnalysisState string

// AnalyzedGroup is a component or a community.
type AnalyzedGroup struct {
	// Its number, the value of its nodes.
	Group int `json:"group"`

	// Number of its nodes.
	Size int `json:"size"`

	// The node with the lowest id.
	NodeID string `json:"nodeId"`
}

// AnalyzedNode is a node with its degree or rank.
type AnalyzedNode struct {
	NodeID string  `json:"nodeId"`
	Value  float64 `json:"value"`
}

// Answer has the sentences that answer a question, with their sources.
type Answer struct {
	// The sentences, each followed by the mark of its citation: `[1]` is the first one. With `generated` the text by
	// the chat model, with such marks. Plain text. Null if no sentence answers the query.
	Answer string `json:"answer"`

	// In the order of `answer`: sentences of one document or node are together, in the order of its text. At most 10;
	// with `generated` at most 48: those that the chat model has read.
	Sentences []AnswerSentence `json:"sentences"`

	// The nodes that the sentences are from, in the order in which they are cited.
	Citations []AnswerCitation `json:"citations"`
	Generated *GeneratedAnswer `json:"generated,omitempty"`
}

// AnswerCitation is a node or a document that is cited by an answer.
type AnswerCitation struct {
	NodeID     string       `json:"nodeId"`
	Name       string       `json:"name"`
	EntityType EntityType   `json:"entityType"`
	Document   *HitDocument `json:"document,omitempty"`

	// The address of the document. Absent if it is not known.
	SourceURL string `json:"sourceUrl,omitempty"`

	// The score of the node in the search.
	Score float64 `json:"score"`

	// Only with `includeLiveData`. Sorted by source and metric.
	LiveData []LiveValue `json:"liveData,omitempty"`
}

// AnswerMode is the way in which an answer is made.
type AnswerMode string

// AnswerQuery is a question.
type AnswerQuery struct {
	// The question; not only white space. With mode `generate` at most 1,000 characters.
	Query string     `json:"query"`
	Mode  AnswerMode `json:"mode,omitempty"`

	// Maximum number of sentences of the answer.
	MaxSentences int `json:"maxSentences,omitempty"`

	// Number of results whose descriptions are read, at most 256 KiB of them. A value over 100 is clamped to 100.
	Limit int `json:"limit,omitempty"`

	// Only nodes of one of these types.
	EntityTypes []EntityType `json:"entityTypes,omitempty"`

	// Only results with at least this score.
	MinScore float64 `json:"minScore,omitempty"`

	// Only nodes whose top-level properties have these values. A list of up to 100 values matches any of them. Values
	// are compared with their type: `7` is not `"7"`.
	Properties map[string]any `json:"properties,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMin map[string]any `json:"propertyMin,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMax map[string]any `json:"propertyMax,omitempty"`

	// The property with each name is a string with this beginning.
	PropertyPrefix map[string]string `json:"propertyPrefix,omitempty"`

	// Only nodes of the documents with these ids: the document's own node and its passages. An id of no document of the
	// workspace matches nothing.
	Documents []string `json:"documents,omitempty"`

	// Only nodes of documents with at least one of these tags, compared exactly: the document's own node and its
	// passages. Nodes without a document do not pass.
	Tags []string `json:"tags,omitempty"`

	// Only nodes of documents with each of these tags. With `tags`, both conditions apply.
	AllTags   []string        `json:"allTags,omitempty"`
	Timestamp *TimestampRange `json:"timestamp,omitempty"`
	Rerank    *RerankOptions  `json:"rerank,omitempty"`

	// Maximum number of edges from a seed. 0: only nodes that are found without the traversal.
	Hops *int `json:"hops,omitempty"`

	// Follow only edges of these types.
	RelationTypes []string  `json:"relationTypes,omitempty"`
	Direction     Direction `json:"direction,omitempty"`

	// Additional seeds. Unknown ids are ignored.
	NodeIDs []string       `json:"nodeIds,omitempty"`
	Weights *SearchWeights `json:"weights,omitempty"`

	// Include the latest value of each series of the sources that are linked to a cited node. Requires `read:livedata`.
	IncludeLiveData bool `json:"includeLiveData,omitempty"`
}

// AnswerSentence is a sentence of an answer.
type AnswerSentence struct {
	// The sentence, with each sequence of white space as one space. A sentence of more than 600 characters is divided.
	Text string `json:"text"`

	// The index in `citations`, from 0.
	Citation int `json:"citation"`

	// The position in the `description` of the cited node, in bytes of UTF-8 like `from` of a passage.
	Start int `json:"start"`

	// The position after the sentence.
	End int `json:"end"`

	// How relevant the sentence is for the query.
	Score float64 `json:"score"`
}

// BatchItem is the result of one command of a batch.
type BatchItem struct {
	Index int `json:"index"`

	// One of: applied, failed.
	Status string         `json:"status"`
	Data   *CommandResult `json:"data,omitempty"`
	Error  *Problem       `json:"error,omitempty"`
}

// BatchResult has the results of a batch, in the order of its commands.
type BatchResult struct {
	BatchID string      `json:"batchId"`
	Results []BatchItem `json:"results"`
}

// Cascade is the edges that were deleted or restored with a node.
type Cascade struct {
	// The edges were restored.
	Restored bool `json:"restored"`
	Count    int  `json:"count"`

	// The first edges, in the order of the ids. `/api/queries/history/{sequence}/edges` returns all of them.
	Edges []string `json:"edges"`
}

// CascadeEdges is a chunk of the edges that were deleted or restored with a node.
type CascadeEdges struct {
	// The node.
	NodeID string `json:"nodeId"`

	// The edges were restored.
	Restored bool `json:"restored"`

	// The index of the first edge among all edges of the node, from 0.
	First int      `json:"first"`
	Edges []string `json:"edges"`
}

// Change is the effect of a command or an atomic batch. A change of a single resource contains it as `node` or
// `edge`, in its state after the change. A change of several resources contains `steps` instead, in order.
type Change struct {
	// The number of the change in the workspace, from 1, without gaps.
	Sequence int64 `json:"sequence"`

	// For a batch: the id of the batch.
	CommandID string `json:"commandId"`

	// The actor of the command.
	ActorID string `json:"actorId"`

	// One of: CREATE_NODE, UPDATE_NODE, DELETE_NODE, CREATE_EDGE, UPDATE_EDGE, DELETE_EDGE, UNDO, REDO, BATCH.
	Type string    `json:"type"`
	At   time.Time `json:"at"`

	// The id of the request that sent the command.
	RequestID string         `json:"requestId"`
	Target    *CommandTarget `json:"target,omitempty"`
	Node      *Node          `json:"node,omitempty"`
	Edge      *Edge          `json:"edge,omitempty"`
	Cascade   *Cascade       `json:"cascade,omitempty"`
	Steps     []Step         `json:"steps,omitempty"`
}

// Command is a change of the graph. [CreateNode] and the functions beside it create commands.
type Command struct {
	Type CommandType `json:"type"`

	// Depends on the type. Optional for `UNDO` and `REDO`.
	Payload any `json:"payload,omitempty"`

	// Only for updates and deletions.
	ExpectedVersion int `json:"expectedVersion,omitempty"`
}

// CommandResult is the effect of a command.
type CommandResult struct {
	// For a command of an atomic batch: the id of the batch.
	CommandID string         `json:"commandId"`
	Type      CommandType    `json:"type"`
	Status    string         `json:"status"`
	Effect    UpsertEffect   `json:"effect,omitempty"`
	Node      *Node          `json:"node,omitempty"`
	Edge      *Edge          `json:"edge,omitempty"`
	Affected  Affected       `json:"affected"`
	Target    *CommandTarget `json:"target,omitempty"`

	// How many of the newest commands in effect the actor can undo afterwards.
	UndoDepth int `json:"undoDepth"`
	RedoDepth int `json:"redoDepth"`

	// The number of the change in the workspace's journal; null: nothing changed.
	Sequence *int64 `json:"sequence"`
}

// CommandState is the state of a command or a batch.
type CommandState struct {
	CommandID string `json:"commandId"`

	// One of: pending, applied, failed.
	Status string `json:"status"`

	// The result of an applied command or batch, as in its response.
	Result CommandOutcome `json:"result,omitempty"`
	Error  *Problem       `json:"error,omitempty"`
}

// CommandTarget is a command that was undone or redone.
type CommandTarget struct {
	CommandID string `json:"commandId"`

	// One of: CREATE_NODE, UPDATE_NODE, DELETE_NODE, CREATE_EDGE, UPDATE_EDGE, DELETE_EDGE, BATCH.
	Type string `json:"type"`
}

// CommandType is the type of a command.
type CommandType string

// DeletedDocument is the result of the deletion of a document.
type DeletedDocument struct {
	ID         string `json:"id"`
	ExternalID string `json:"externalId"`
	Status     string `json:"status"`
	CommandID  string `json:"commandId"`
}

// Direction is the direction in which edges are followed.
type Direction string

// Document is a document without its text.
type Document struct {
	// The id of the document's node.
	ID          string    `json:"id"`
	ExternalID  string    `json:"externalId"`
	Title       string    `json:"title"`
	ContentType string    `json:"contentType"`
	SourceURL   string    `json:"sourceUrl"`
	Tags        []string  `json:"tags"`
	Timestamp   time.Time `json:"timestamp"`

	// Identifies the content and its metadata.
	Hash string `json:"hash"`

	// 1 for the first content. Undo restores the previous one.
	Revision int `json:"revision"`

	// 0: the text is the description of the node.
	PassageCount int       `json:"passageCount"`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`

	// The version of the document's node.
	Version int `json:"version"`

	// Only in the response to a request for one document.
	Passages []DocumentPassage `json:"passages,omitempty"`
}

// DocumentPassage is a part of the text of a document, which is a node.
type DocumentPassage struct {
	// The id of the passage's node.
	ID    string `json:"id"`
	Index int    `json:"index"`

	// The position in the extracted text, in bytes.
	From int `json:"from"`
	To   int `json:"to"`

	// The heading of the section in which the passage begins.
	Heading string `json:"heading"`

	// The page, slide or sheet on which the passage begins; null: the content has no pages.
	Page *int   `json:"page"`
	Text string `json:"text"`
}

// Edge is a relation from a node, the source, to another, the target.
type Edge struct {
	ID       string `json:"id"`
	SourceID string `json:"sourceId"`

	// May be the source.
	TargetID     string `json:"targetId"`
	RelationType string `json:"relationType"`

	// Custom attributes: up to 32 KiB as JSON, 8 levels, 256 keys. No value is null. Numbers keep their value, not
	// their notation: `1.50` is returned as `1.5`.
	Properties Properties `json:"properties"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
	Version    int        `json:"version"`

	// Only in a response as of a moment: the sequence of the last change that the state includes.
	AsOfSequence int64 `json:"asOfSequence,omitempty"`

	// Same as for a node.
	Deleted bool `json:"deleted,omitempty"`
}

// EdgePatch has the changes of an edge. Fields that are not set do not change. Properties are merged.
type EdgePatch struct {
	ID           string        `json:"id"`
	RelationType Field[string] `json:"relationType,omitzero"`

	// A merge patch (RFC 7396): null removes a property.
	Properties Field[map[string]any] `json:"properties,omitzero"`
}

// EdgeUpsert is an edge to create, or the changes of the one that exists. Each end has an id or a key.
type EdgeUpsert struct {
	SourceID string     `json:"sourceId,omitempty"`
	Source   *KeyedNode `json:"source,omitempty"`

	// May be the source.
	TargetID     string     `json:"targetId,omitempty"`
	Target       *KeyedNode `json:"target,omitempty"`
	RelationType string     `json:"relationType"`

	// A merge patch (RFC 7396): null removes a property.
	Properties map[string]interface{} `json:"properties,omitempty"`
}

// EntityType is the type of a node.
type EntityType string

// ErrorDetails is what caused an error. Fields that do not apply are zero.
type ErrorDetails struct {
	// The field with the error: a path such as `points[3].timestamp`, a parameter or a header.
	Field string `json:"field,omitempty"`

	// Why the field is invalid.
	Reason string `json:"reason,omitempty"`

	// The allowed values.
	Allowed []string `json:"allowed,omitempty"`

	// The limit that was exceeded.
	Limit int `json:"limit,omitempty"`

	// The window whose requests are used up. One of: minute, day.
	Window string `json:"window,omitempty"`

	// The byte of the body where parsing stopped.
	Position *int `json:"position,omitempty"`

	// The line of the body, from 1.
	Line int `json:"line,omitempty"`

	// The item of a batch, from 0.
	Index *int `json:"index,omitempty"`

	// The scopes of which one is required.
	Required        []Scope `json:"required,omitempty"`
	ExpectedVersion int     `json:"expectedVersion,omitempty"`
	ActualVersion   int     `json:"actualVersion,omitempty"`

	// The parameters that narrow the query.
	Narrow []string `json:"narrow,omitempty"`

	// The part of the search that is unavailable. One of: text, vector, graph.
	Lane string `json:"lane,omitempty"`

	// A query with this checkpoint waits for the accepted points.
	Checkpoint string `json:"checkpoint,omitempty"`

	// Points that were accepted.
	Accepted int `json:"accepted,omitempty"`

	// Points that were rejected.
	Rejected int         `json:"rejected,omitempty"`
	Errors   []Rejection `json:"errors,omitempty"`

	// What is wrong with a file of rules.
	Problems []RuleProblem `json:"problems,omitempty"`

	// Nodes or edges that match, where one is required.
	IDs []string `json:"ids,omitempty"`

	// The conflicts that block an undo or a redo.
	Conflicts []GraphConflict `json:"conflicts,omitempty"`

	// For 500, 503 and 504: the id for `GET /api/commands/{id}`, which returns the result of the command or the batch.
	CommandID string `json:"commandId,omitempty"`

	// Some of the points may have been accepted; sending all again is safe.
	Partial bool `json:"partial,omitempty"`
}

// FacetName is the field whose values are counted. entityType: of the node. tags, timestamp: of the document that
// the node is, or is a passage of.
type FacetName string

// FacetValue is a value with the number of results that have it.
type FacetValue struct {
	// An entity type, a tag, or a day, month or year in UTC: `2026-11-21`, `2026-11` or `2026`.
	Value string `json:"value"`

	// Number of results that have the value.
	Count int `json:"count"`
}

// GeneratedAnswer has what is known about a text by the chat model.
type GeneratedAnswer struct {
	// The model that wrote the text.
	Model string `json:"model"`

	// The sentences of the text. Empty if the sources do not answer the query.
	Sentences []GeneratedSentence `json:"sentences"`

	// Numbers in marks that name no citation, as the model wrote them. The marks are not in `answer`.
	RemovedCitations []int `json:"removedCitations"`

	// The text had more sentences than `maxSentences`, or was longer than the operator allows.
	Truncated bool `json:"truncated"`
}

// GeneratedSentence is a sentence of a text by the chat model.
type GeneratedSentence struct {
	// The sentence, without marks and with each sequence of white space as one space.
	Text string `json:"text"`

	// The indexes in `citations` of the sources that the sentence cites.
	Citations []int `json:"citations"`

	// Whether the cited sources contain the sentence: most of its words and its meaning, each of its numbers, and each
	// address. False for a sentence without citations. It is computed, not proven: negations and relations between
	// words are not compared.
	Supported bool `json:"supported"`

	// How much of the sentence the cited sources contain, by words and by meaning.
	Support float64 `json:"support"`
}

// GraphConflict is what blocks an undo or a redo.
type GraphConflict struct {
	// One of: node, edge.
	Kind string `json:"kind"`
	ID   string `json:"id"`

	// The field that was changed, such as `properties.site`.
	Field string `json:"field,omitempty"`

	// The command that causes the conflict.
	ByCommandID string `json:"byCommandId"`
}

// GraphCounts is the numbers of nodes and edges by type. Those that the key may not read are nil.
type GraphCounts struct {
	// The sequence of the newest change that the numbers include.
	Sequence int64       `json:"sequence"`
	Nodes    *TypeCounts `json:"nodes,omitempty"`
	Edges    *TypeCounts `json:"edges,omitempty"`
}

// HitDocument is the document that the node is, or is a passage of.
type HitDocument struct {
	// The id of the document's node.
	ID         string `json:"id"`
	ExternalID string `json:"externalId"`
	Title      string `json:"title"`

	// The page, slide or sheet on which the passage begins. Absent if the content has no pages.
	Page int `json:"page,omitempty"`
}

// HybridHit is a result of a search that follows edges.
type HybridHit struct {
	Node  Node    `json:"node"`
	Score float64 `json:"score"`

	// The part of the node's text that matches the query best. Plain text.
	Snippet      string        `json:"snippet"`
	MatchedChunk *MatchedChunk `json:"matchedChunk"`

	// The score by the reranking model. Its range depends on the model. Absent if the result was not reranked.
	RerankScore *float64     `json:"rerankScore,omitempty"`
	Document    *HitDocument `json:"document,omitempty"`
	Scores      HybridScores `json:"scores"`

	// The edges from the seed to the node. Empty if the node is a seed or the traversal did not reach it.
	Path []Edge `json:"path"`

	// Only with `explain`.
	Explanation []SearchReason `json:"explanation,omitempty"`

	// Only with `includeEdges`.
	Edges []Edge `json:"edges,omitempty"`

	// Only with `includeLiveData`. Sorted by source and metric.
	LiveData []LiveValue `json:"liveData,omitempty"`
}

// HybridQuery is a search that follows edges.
type HybridQuery struct {
	// The search text; not only white space.
	Query string `json:"query"`

	// A value over 100 is clamped to 100.
	Limit int `json:"limit,omitempty"`

	// Number of results to skip. At most 1,000 results are ranked; pages beyond them are empty.
	Offset int `json:"offset,omitempty"`

	// Only nodes of one of these types.
	EntityTypes []EntityType `json:"entityTypes,omitempty"`

	// Only results with at least this score.
	MinScore float64 `json:"minScore,omitempty"`

	// Only nodes whose top-level properties have these values. A list of up to 100 values matches any of them. Values
	// are compared with their type: `7` is not `"7"`.
	Properties map[string]any `json:"properties,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMin map[string]any `json:"propertyMin,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMax map[string]any `json:"propertyMax,omitempty"`

	// The property with each name is a string with this beginning.
	PropertyPrefix map[string]string `json:"propertyPrefix,omitempty"`

	// Only nodes of the documents with these ids: the document's own node and its passages. An id of no document of the
	// workspace matches nothing.
	Documents []string `json:"documents,omitempty"`

	// Only nodes of documents with at least one of these tags, compared exactly: the document's own node and its
	// passages. Nodes without a document do not pass.
	Tags []string `json:"tags,omitempty"`

	// Only nodes of documents with each of these tags. With `tags`, both conditions apply.
	AllTags   []string        `json:"allTags,omitempty"`
	Timestamp *TimestampRange `json:"timestamp,omitempty"`

	// Include the text of `matchedChunk`.
	IncludeContent bool `json:"includeContent,omitempty"`

	// document: return only the best passage of each document. Other nodes are not affected.
	GroupBy string `json:"groupBy,omitempty"`

	// Count the values of these fields over all ranked results (`meta.total`, at most 1,000), not only those of the
	// page. The counts are in `meta.facets`.
	Facets []FacetName `json:"facets,omitempty"`

	// Maximum number of values of a facet. Requires `facets`.
	FacetLimit int `json:"facetLimit,omitempty"`

	// The calendar interval of the values of `timestamp`, in UTC. If it is omitted: the shortest one with at most
	// `facetLimit` values, or year. Requires `timestamp` in `facets`. One of: day, month, year.
	FacetInterval string         `json:"facetInterval,omitempty"`
	Rerank        *RerankOptions `json:"rerank,omitempty"`

	// Maximum number of edges from a seed. 0: only nodes that are found without the traversal.
	Hops *int `json:"hops,omitempty"`

	// Follow only edges of these types.
	RelationTypes []string  `json:"relationTypes,omitempty"`
	Direction     Direction `json:"direction,omitempty"`

	// Additional seeds. Unknown ids are ignored.
	NodeIDs []string       `json:"nodeIds,omitempty"`
	Weights *SearchWeights `json:"weights,omitempty"`

	// Include an explanation of the score of each result.
	Explain bool `json:"explain,omitempty"`

	// Include the edges between each result and other results of the page.
	IncludeEdges bool `json:"includeEdges,omitempty"`

	// Include the latest value of each series of the sources that are linked to a result. Requires `read:livedata`.
	IncludeLiveData bool `json:"includeLiveData,omitempty"`
}

// HybridScores is the score of each lane; null if the lane did not find the node.
type HybridScores struct {
	// By words, relative to the best result.
	Text *float64 `json:"text"`

	// The cosine of the best chunk, scaled for some models; 0 if it is negative.
	Vector *float64 `json:"vector"`

	// By the traversal, relative to the best result.
	Graph *float64 `json:"graph"`
}

// IndexLag is what is not indexed yet.
type IndexLag struct {
	// Changes that are not indexed yet.
	Events int `json:"events"`

	// The age of the oldest of them.
	Seconds float64 `json:"seconds"`
}

// IndexLinks is the edges that follow from mentions of names in texts.
type IndexLinks struct {
	// The texts whose mentions become edges: those of documents, or of all nodes. One of: off, documents, all.
	Mode string `json:"mode"`

	// Nodes and names that are not compared yet.
	Pending int `json:"pending"`
}

// IndexModel is the embedding model whose vectors are searched; null: there is no index yet.
type IndexModel struct {
	Name       string `json:"name"`
	Dimensions int    `json:"dimensions"`
}

// IndexNodes has the numbers of nodes in the index.
type IndexNodes struct {
	// Nodes of the workspace.
	Total int `json:"total"`

	// Nodes in the index.
	Indexed int `json:"indexed"`

	// Nodes that are not in the index at all.
	Pending int `json:"pending"`
}

// IndexStatus is the status of the index of a workspace.
type IndexStatus struct {
	// ready: the whole graph is indexed; indexing: a part of it is not indexed yet, by words or by meaning; degraded:
	// an index cannot be read or written. One of: ready, indexing, degraded.
	Status        string          `json:"status"`
	Model         *IndexModel     `json:"model"`
	Nodes         IndexNodes      `json:"nodes"`
	Lag           IndexLag        `json:"lag"`
	LastIndexedAt time.Time       `json:"lastIndexedAt"`
	Text          TextIndexStatus `json:"text"`
	Links         IndexLinks      `json:"links"`
	Reindex       Reindex         `json:"reindex"`
}

// IngestResult is the result of a request with points. Accepted points are durable.
type IngestResult struct {
	Accepted int         `json:"accepted"`
	Rejected int         `json:"rejected"`
	Errors   []Rejection `json:"errors"`

	// Send it with a query to read the accepted points.
	Checkpoint string `json:"checkpoint"`
}

// KeyedNode is a node that is identified by its type and its key.
type KeyedNode struct {
	// One property of the top level, with a string of 1 to 2,048 characters without control characters or a number as
	// value. Its name has 1 to 128 characters.
	Key        map[string]interface{} `json:"key"`
	EntityType EntityType             `json:"entityType"`
}

// ListedRuleFile is a file of rules without its text.
type ListedRuleFile struct {
	Name string `json:"name"`

	// Number of groups.
	Groups int `json:"groups"`

	// Number of rules.
	Rules int `json:"rules"`

	// Rises with each change.
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	// Null if it was not evaluated yet.
	LastEvaluation time.Time `json:"lastEvaluation"`

	// Number of rules whose last evaluation failed.
	Failing int `json:"failing"`

	// The error of the first of them.
	LastError string `json:"lastError"`
}

// LiveValue is the latest value of a series.
type LiveValue struct {
	SourceID   string `json:"sourceId"`
	SourceName string `json:"sourceName"`
	Metric     string `json:"metric"`
	Unit       string `json:"unit"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags      map[string]string `json:"tags"`
	Timestamp time.Time         `json:"timestamp"`
	Value     any               `json:"value"`
}

// MatchedChunk is the part of the node's text whose meaning matches the query. Null if the node was not found by
// meaning, or its text has changed since.
type MatchedChunk struct {
	Index int `json:"index"`

	// Only with `includeContent`.
	Text string `json:"text,omitempty"`
}

// Neighbor is a node that is reachable from another one, with the edges that lead to it.
type Neighbor struct {
	Node Node `json:"node"`

	// Number of edges of the shortest path to the node.
	Depth int    `json:"depth"`
	Edges []Edge `json:"edges"`
}

// NewAlertmanager is an Alertmanager to set.
type NewAlertmanager struct {
	URL           string                        `json:"url"`
	Authorization *NewAlertmanagerAuthorization `json:"authorization,omitempty"`

	// Further headers of each request, such as the tenant. Not `Authorization`, and not those that the server sets:
	// `Host`, `User-Agent`, `Content-…`, `Proxy-…`, and those of the connection.
	Headers []NewAlertmanagerHeader `json:"headers,omitempty"`
}

// NewAlertmanagerAuthorization is the credentials of each request. Absent, there are none.
type NewAlertmanagerAuthorization struct {
	Type AlertmanagerAuthorizationType `json:"type"`

	// Required with the type `basic`. Without a colon.
	Username string `json:"username,omitempty"`

	// Of the type `basic`. Absent, it stays as it is stored for the URL.
	Password string `json:"password,omitempty"`

	// Of the type `bearer`, in visible ASCII characters. Absent, it stays as it is stored for the URL.
	Token string `json:"token,omitempty"`
}

// NewAlertmanagerHeader is a header of requests to an Alertmanager.
type NewAlertmanagerHeader struct {
	Name string `json:"name"`

	// In printable ASCII characters. Absent, it stays as it is stored for the URL and the name.
	Value string `json:"value,omitempty"`
}

// NewAnalysis is an analysis of the graph to create.
type NewAnalysis struct {
	Algorithm AnalysisAlgorithm `json:"algorithm"`

	// Analyze nodes of these types and the edges between them. Empty: of all types.
	EntityTypes []EntityType `json:"entityTypes,omitempty"`

	// Analyze edges of these types. Empty: of all types.
	RelationTypes []string `json:"relationTypes,omitempty"`

	// The top-level property of edges that is their weight, not for `components`. Edges where it is not a number from 0
	// to 1e100 are ignored. Without it, each edge has weight 1.
	Weight    string            `json:"weight,omitempty"`
	Direction AnalysisDirection `json:"direction,omitempty"`

	// The probability that the random surfer follows an edge. Only for `pagerank`.
	Damping *float64 `json:"damping,omitempty"`

	// The top-level property of nodes to which the values are written. Without it, nothing is written.
	Property string `json:"property,omitempty"`
}

// NewDocument is a document with either `text` or `data`.
type NewDocument struct {
	// Your id of the document, such as a path or a URL. Unique in the request; no control characters.
	ExternalID string `json:"externalId"`

	// Default: the title in the content (HTML title or first heading, Markdown front matter or first heading, metadata
	// of a file), else the external id.
	Title string `json:"title,omitempty"`

	// The content, at most 4 MiB. The text that is extracted from it has at most 1 MiB.
	Text string `json:"text,omitempty"`

	// The content of a file instead of `text`, in base64, at most 16 MiB before encoding. It has at most 1 MiB of text,
	// and the files of a request 8 MiB together.
	Data []byte `json:"data,omitempty"`

	// The media type, required with `data`. Of `text`: `text/plain`, `text/markdown` or `text/html`, without a charset
	// or with utf-8. Of `data`: `application/pdf`, or that of a .docx, .pptx, .xlsx, .odt, .odp or .ods file.
	ContentType string `json:"contentType,omitempty"`

	// An absolute URL.
	SourceURL string `json:"sourceUrl,omitempty"`

	// At most 8 KiB together.
	Tags []string `json:"tags,omitempty"`

	// The time of the document.
	Timestamp time.Time `json:"timestamp,omitzero"`
}

// NewEdge is an edge to create. ID is optional.
type NewEdge struct {
	// Default: a generated id.
	ID       string `json:"id,omitempty"`
	SourceID string `json:"sourceId"`

	// May be the source.
	TargetID     string `json:"targetId"`
	RelationType string `json:"relationType"`

	// Custom attributes: up to 32 KiB as JSON, 8 levels, 256 keys. No value is null. Numbers keep their value, not
	// their notation: `1.50` is returned as `1.5`.
	Properties Properties `json:"properties,omitempty"`
}

// NewNode is a node to create. ID is optional.
type NewNode struct {
	// Default: a generated id.
	ID string `json:"id,omitempty"`

	// Without control characters.
	Name       string     `json:"name"`
	EntityType EntityType `json:"entityType"`

	// At most 64 KiB.
	Description string `json:"description,omitempty"`

	// Custom attributes: up to 32 KiB as JSON, 8 levels, 256 keys. No value is null. Numbers keep their value, not
	// their notation: `1.50` is returned as `1.5`.
	Properties Properties `json:"properties,omitempty"`
}

// NewSavedQuery is a query to save.
type NewSavedQuery struct {
	// Default: a generated id.
	ID string `json:"id,omitempty"`

	// A single line.
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Kind        SavedQueryKind `json:"kind"`

	// The body of the route of `kind`: at most 65,536 bytes of JSON without insignificant white space.
	Request map[string]interface{} `json:"request"`
}

// NewSource is a source to create.
type NewSource struct {
	// Default: a generated id.
	ID string `json:"id,omitempty"`

	// A single line.
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	NodeID      string         `json:"nodeId,omitempty"`
	Unit        string         `json:"unit,omitempty"`
	Metrics     []SourceMetric `json:"metrics,omitempty"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags            map[string]string `json:"tags,omitempty"`
	RetentionDays   int               `json:"retentionDays,omitempty"`
	IntervalSeconds float64           `json:"intervalSeconds,omitempty"`
}

// NewWebhook is a webhook to create.
type NewWebhook struct {
	Name string `json:"name"`
	URL  string `json:"url"`

	// The types of events that are sent.
	Events []WebhookEventType `json:"events"`

	// Only alerts with all of these labels are sent. Names have 1 to 256 characters.
	Labels map[string]string `json:"labels,omitempty"`

	// Only nodes of these types are sent; empty: all. Responses have each type once, sorted.
	EntityTypes []EntityType `json:"entityTypes,omitempty"`

	// Only edges of these types are sent; empty: all.
	RelationTypes []string `json:"relationTypes,omitempty"`

	// Only changes of these nodes, and of edges that begin or end at one of them, are sent; empty: all.
	NodeIDs []string `json:"nodeIds,omitempty"`
	Enabled *bool    `json:"enabled,omitempty"`
}

// Node is an entity of the graph.
type Node struct {
	ID string `json:"id"`

	// Need not be unique.
	Name        string     `json:"name"`
	EntityType  EntityType `json:"entityType"`
	Description string     `json:"description"`

	// Custom attributes: up to 32 KiB as JSON, 8 levels, 256 keys. No value is null. Numbers keep their value, not
	// their notation: `1.50` is returned as `1.5`.
	Properties Properties `json:"properties"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`

	// Incremented by one at each change, including undo and redo.
	Version int `json:"version"`

	// Only in a response as of a moment: the sequence of the last change that the state includes.
	AsOfSequence int64 `json:"asOfSequence,omitempty"`

	// Only in changes, for a deleted node. The other fields are its last state.
	Deleted bool `json:"deleted,omitempty"`
}

// NodePatch has the changes of a node. Fields that are not set do not change. Properties are merged.
type NodePatch struct {
	ID         string            `json:"id"`
	Name       Field[string]     `json:"name,omitzero"`
	EntityType Field[EntityType] `json:"entityType,omitzero"`

	// Null clears it.
	Description Field[string] `json:"description,omitzero"`

	// A merge patch (RFC 7396): null removes a property.
	Properties Field[map[string]any] `json:"properties,omitzero"`
}

// NodeUpsert is a node to create, or the changes of the one that has the key. Properties are merged.
type NodeUpsert struct {
	// One property of the top level, with a string of 1 to 2,048 characters without control characters or a number as
	// value. Its name has 1 to 128 characters.
	Key        map[string]interface{} `json:"key"`
	EntityType EntityType             `json:"entityType"`

	// Default: unchanged; of a created node the value of the key, at most 512 characters of it.
	Name Field[string] `json:"name,omitzero"`

	// Null clears it.
	Description Field[string] `json:"description,omitzero"`

	// A merge patch (RFC 7396): null removes a property. It does not change the key.
	Properties Field[map[string]any] `json:"properties,omitzero"`
}

// Path is a path between two nodes.
type Path struct {
	// The nodes, from `from` to `to`.
	Nodes []Node `json:"nodes"`

	// The edges between these nodes. An edge may point in either direction.
	Edges []Edge `json:"edges"`

	// Number of edges.
	Length int `json:"length"`

	// Sum of the costs of the edges. Only with `weight`.
	Cost *float64 `json:"cost,omitempty"`
}

// Pattern is a pattern: nodes with conditions, and edges that connect them.
type Pattern struct {
	// The nodes by name. A name has at most 64 letters, digits and underscores, and does not begin with a digit.
	Nodes map[string]PatternNode `json:"nodes"`

	// The edges. They must connect all nodes.
	Edges []PatternEdge `json:"edges,omitempty"`

	// Count the matches by these nodes.
	Return []string `json:"return,omitempty"`

	// Maximum number of matches or counts. Other than in lists, a larger value is refused.
	Limit int `json:"limit,omitempty"`
}

// PatternEdge is an edge of a pattern.
type PatternEdge struct {
	// The name of a node of the pattern.
	From string `json:"from"`

	// The name of a node of the pattern. It may be the same.
	To string `json:"to"`

	// Only edges of exactly these types.
	RelationTypes []string  `json:"relationTypes,omitempty"`
	Direction     Direction `json:"direction,omitempty"`

	// Minimum number of edges between the nodes.
	MinLength int `json:"minLength,omitempty"`

	// Maximum number of edges between the nodes. The default is minLength. Nodes between them may be any nodes.
	MaxLength int `json:"maxLength,omitempty"`

	// There is no such edge.
	Absent bool `json:"absent,omitempty"`
}

// PatternMatch is a match, or with `return` the number of matches with these nodes.
type PatternMatch struct {
	// The ids of nodes by name.
	Nodes map[string]string `json:"nodes"`

	// The ids of the edges of each edge of the pattern, from `from` to `to`; empty for an absent edge. Not with
	// `return`.
	Edges [][]string `json:"edges,omitempty"`

	// Number of matches. Only with `return`.
	Count int `json:"count,omitempty"`
}

// PatternMatches has the matches of a pattern, with their nodes and edges.
type PatternMatches struct {
	Matches []PatternMatch `json:"matches"`

	// The nodes of the matches, each once, sorted by id.
	Nodes []Node `json:"nodes"`

	// The edges of the matches, each once, sorted by id.
	Edges []Edge `json:"edges"`

	// Number of matches that were found, or with `return` of counts. It may be larger than `limit`.
	Total int `json:"total"`

	// Whether matches may be missing.
	Truncated bool `json:"truncated"`
}

// PatternNode is a node of a pattern, which must meet all conditions. All nodes together have at most 200 values of
// properties.
type PatternNode struct {
	// One of these nodes.
	NodeIDs []string `json:"nodeIds,omitempty"`

	// Of one of these types.
	EntityTypes []EntityType `json:"entityTypes,omitempty"`

	// A part of the name, in upper or lower case.
	Name string `json:"name,omitempty"`

	// Only nodes whose top-level properties have these values. A list of up to 100 values matches any of them. Values
	// are compared with their type: `7` is not `"7"`.
	Properties map[string]any `json:"properties,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMin map[string]any `json:"propertyMin,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMax map[string]any `json:"propertyMax,omitempty"`

	// The property with each name is a string with this beginning.
	PropertyPrefix map[string]string `json:"propertyPrefix,omitempty"`
}

// Point is a value of a series. The source is given by its name or its id.
type Point struct {
	SourceID string `json:"sourceId,omitempty"`

	// The source's name, instead of its id.
	Source string `json:"source,omitempty"`
	Metric string `json:"metric,omitempty"`

	// RFC 3339, or an integer in `precision`. From 1970 to one day ahead. Default: the time of receipt, the same for
	// the whole request.
	Timestamp any `json:"timestamp,omitempty"`

	// A number, a boolean (stored as 0 or 1) or a string of up to 1 KiB.
	Value any `json:"value"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags map[string]string `json:"tags,omitempty"`
}

// PointRows is a series, or several aggregated series. Fields that these do not have in common are null, and such
// tags are absent.
type PointRows struct {
	SourceID   string    `json:"sourceId"`
	SourceName string    `json:"sourceName"`
	Metric     string    `json:"metric"`
	Kind       ValueKind `json:"kind"`
	Unit       string    `json:"unit"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags    map[string]string `json:"tags"`
	Columns []string          `json:"columns"`

	// One row per point, with the values in the order of `columns`.
	Points [][]any `json:"points"`
}

// PointSeries has points of one series as columns.
type PointSeries struct {
	SourceID string `json:"sourceId,omitempty"`
	Source   string `json:"source,omitempty"`
	Metric   string `json:"metric,omitempty"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags map[string]string `json:"tags,omitempty"`

	// One for each value.
	Timestamps []any `json:"timestamps,omitempty"`
	Values     []any `json:"values"`
}

// PointsDeletion describes the points that were deleted.
type PointsDeletion struct {
	SourceID string `json:"sourceId"`

	// null: all metrics.
	Metric string `json:"metric"`

	// Inclusive; null: no bound.
	From time.Time `json:"from"`

	// Exclusive; null: no bound.
	To time.Time `json:"to"`

	// A query with this checkpoint returns none of the deleted points.
	Checkpoint string `json:"checkpoint"`
}

// Precision is the unit of integer timestamps. Points are stored to the microsecond.
type Precision string

// Problem is the error of one command of a batch. Its method Err returns it as an error.
type Problem struct {
	// One of: VALIDATION_ERROR, AUTHORIZATION_ERROR, NOT_FOUND, CONFLICT, INTERNAL_ERROR.
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Details *ErrorDetails `json:"details,omitempty"`
}

// PutDocumentResult is what a request changed of a document.
type PutDocumentResult struct {
	// The index of the document in the request.
	Index int `json:"index"`

	// The id of the document's node.
	ID         string `json:"id"`
	ExternalID string `json:"externalId"`

	// One of: created, updated, unchanged.
	Status string `json:"status"`

	// The command that changed the document; null: nothing changed.
	CommandID string `json:"commandId"`
}

// Reindex is the progress of a rebuild of the index.
type Reindex struct {
	Running bool `json:"running"`

	// Nodes that are processed.
	Done int `json:"done"`

	// Total number of nodes.
	Total int `json:"total"`

	// Estimated remaining time; null: unknown, or no rebuild is running.
	EtaSeconds *float64 `json:"etaSeconds"`
}

// Rejection describes points that were rejected for one reason. The fields are those of the first of them.
type Rejection struct {
	// The index of the point or the series, from 0; in line-based formats of the line.
	Index int `json:"index"`

	// The index of the value in the series.
	Position *int `json:"position,omitempty"`

	// The line of the body, in line-based formats.
	Line int `json:"line,omitempty"`

	// In lines: measurement, tags.<key>, fields.<key>, timestamp, or line. In remote writes such as
	// timeseries[3].samples[0].value.
	Field  string `json:"field"`
	Reason string `json:"reason"`

	// Number of points.
	Count int `json:"count"`
}

// RerankOptions is the selection of the results that a reranking model orders again.
type RerankOptions struct {
	// Number of results that are reranked, on all pages, after `groupBy`. The operator may allow fewer than 100.
	Candidates int `json:"candidates,omitempty"`

	// Weight of the order by the model; that of the search has the rest. 1: only the model decides.
	Weight *float64 `json:"weight,omitempty"`
}

// Reranking is the reranking of the results of a search.
type Reranking struct {
	// The name of the reranking model.
	Model string `json:"model"`

	// Number of reranked results, on all pages.
	Candidates int `json:"candidates"`

	// Duration of the request to the model.
	Milliseconds float64 `json:"milliseconds"`
}

// RuleFile is a file of rules.
type RuleFile struct {
	Name      string    `json:"name"`
	Groups    int       `json:"groups"`
	Rules     int       `json:"rules"`
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	// The text of the file, as it was sent.
	Content string `json:"content"`
}

// RuleProblem is a mistake in a file of rules.
type RuleProblem struct {
	// The line of the file, if it is known.
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
}

// RunSavedQuery has what replaces fields of a saved request. Fields that are not set do not change.
type RunSavedQuery struct {
	Query string `json:"query,omitempty"`

	// A value over 100 is clamped to 100.
	Limit int `json:"limit,omitempty"`

	// Not for queries of kind `answer`.
	Offset *int `json:"offset,omitempty"`

	// Only nodes of the documents with these ids: the document's own node and its passages. An id of no document of the
	// workspace matches nothing.
	Documents []string `json:"documents,omitempty"`

	// Only nodes of documents with at least one of these tags, compared exactly: the document's own node and its
	// passages. Nodes without a document do not pass.
	Tags []string `json:"tags,omitempty"`

	// Only nodes of documents with each of these tags. With `tags`, both conditions apply.
	AllTags   []string        `json:"allTags,omitempty"`
	Timestamp *TimestampRange `json:"timestamp,omitempty"`
}

// SavedQuery is a request of search with a name.
type SavedQuery struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Kind        SavedQueryKind `json:"kind"`

	// The body of the route, as it was sent.
	Request   map[string]interface{} `json:"request"`
	CreatedAt time.Time              `json:"createdAt"`
	UpdatedAt time.Time              `json:"updatedAt"`

	// Starts at 1 and increases with every change.
	Version int `json:"version"`
}

// SavedQueryKind is the route that answers a saved query.
type SavedQueryKind string

// SavedQueryPatch has the changes of a saved query. Fields that are not set do not change. Requests are merged.
type SavedQueryPatch struct {
	ExpectedVersion Field[int]            `json:"expectedVersion,omitzero"`
	Name            Field[string]         `json:"name,omitzero"`
	Description     Field[string]         `json:"description,omitzero"`
	Kind            Field[SavedQueryKind] `json:"kind,omitzero"`

	// Members to merge. A member that is null is removed.
	Request Field[map[string]any] `json:"request,omitzero"`
}

// Scope is a permission of a key.
type Scope string

// SearchFacet has the frequent values of a field.
type SearchFacet struct {
	// Only of `timestamp`: the interval of the values. One of: day, month, year.
	Interval string `json:"interval,omitempty"`

	// The values with the highest counts, by count, then by value.
	Values []FacetValue `json:"values"`

	// Sum of the counts of the values that are not listed. A result with several such tags counts several times.
	Other int `json:"other"`

	// Number of results without a value.
	Missing int `json:"missing"`
}

// SearchFacets is the values of each field that the request has in `facets`, counted over the ranked results: the
// best candidates of each lane that pass all filters and `minScore`, `total` of them. The counts of these results
// are exact. Nodes of the workspace that were not ranked are not counted. They are the same on every page. With
// `groupBy`, a document counts once; otherwise each of its passages that was found counts. Absent without `facets`.
type SearchFacets struct {
	EntityType *SearchFacet `json:"entityType,omitempty"`
	Tags       *SearchFacet `json:"tags,omitempty"`
	Timestamp  *SearchFacet `json:"timestamp,omitempty"`
}

// SearchHit is a result of a search.
type SearchHit struct {
	Node  Node    `json:"node"`
	Score float64 `json:"score"`

	// The part of the node's text that matches the query best. Plain text.
	Snippet      string        `json:"snippet"`
	MatchedChunk *MatchedChunk `json:"matchedChunk"`

	// The score by the reranking model. Its range depends on the model. Absent if the result was not reranked.
	RerankScore *float64     `json:"rerankScore,omitempty"`
	Document    *HitDocument `json:"document,omitempty"`
	Scores      SearchScores `json:"scores"`
}

// SearchQuery is a search by words and by meaning.
type SearchQuery struct {
	// The search text; not only white space.
	Query string `json:"query"`

	// A value over 100 is clamped to 100.
	Limit int `json:"limit,omitempty"`

	// Number of results to skip. At most 1,000 results are ranked; pages beyond them are empty.
	Offset int `json:"offset,omitempty"`

	// Only nodes of one of these types.
	EntityTypes []EntityType `json:"entityTypes,omitempty"`

	// Only results with at least this score.
	MinScore float64 `json:"minScore,omitempty"`

	// Only nodes whose top-level properties have these values. A list of up to 100 values matches any of them. Values
	// are compared with their type: `7` is not `"7"`.
	Properties map[string]any `json:"properties,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMin map[string]any `json:"propertyMin,omitempty"`

	// Inclusive bounds of properties by name. A property passes a bound only if it is of the same type. Strings are
	// compared by code point.
	PropertyMax map[string]any `json:"propertyMax,omitempty"`

	// The property with each name is a string with this beginning.
	PropertyPrefix map[string]string `json:"propertyPrefix,omitempty"`

	// Only nodes of the documents with these ids: the document's own node and its passages. An id of no document of the
	// workspace matches nothing.
	Documents []string `json:"documents,omitempty"`

	// Only nodes of documents with at least one of these tags, compared exactly: the document's own node and its
	// passages. Nodes without a document do not pass.
	Tags []string `json:"tags,omitempty"`

	// Only nodes of documents with each of these tags. With `tags`, both conditions apply.
	AllTags   []string        `json:"allTags,omitempty"`
	Timestamp *TimestampRange `json:"timestamp,omitempty"`

	// Include the text of `matchedChunk`.
	IncludeContent bool `json:"includeContent,omitempty"`

	// document: return only the best passage of each document. Other nodes are not affected.
	GroupBy string `json:"groupBy,omitempty"`

	// Count the values of these fields over all ranked results (`meta.total`, at most 1,000), not only those of the
	// page. The counts are in `meta.facets`.
	Facets []FacetName `json:"facets,omitempty"`

	// Maximum number of values of a facet. Requires `facets`.
	FacetLimit int `json:"facetLimit,omitempty"`

	// The calendar interval of the values of `timestamp`, in UTC. If it is omitted: the shortest one with at most
	// `facetLimit` values, or year. Requires `timestamp` in `facets`. One of: day, month, year.
	FacetInterval string         `json:"facetInterval,omitempty"`
	Rerank        *RerankOptions `json:"rerank,omitempty"`
}

// SearchReason is a part of a score.
type SearchReason struct {
	// The query names the node; it is in `nodeIds`; it was found by words, by meaning, or by the traversal. One of:
	// named, start, text, vector, graph.
	Kind string `json:"kind"`

	// For graph: the node from which the score was propagated.
	NodeID string `json:"nodeId"`

	// A readable description of the reason.
	Detail string `json:"detail"`

	// The share of the score.
	Share float64 `json:"share"`
}

// SearchScores is the score of each lane; null if the lane did not find the node.
type SearchScores struct {
	// By words, relative to the best result.
	Text *float64 `json:"text"`

	// The cosine of the best chunk, scaled for some models; 0 if it is negative.
	Vector *float64 `json:"vector"`
}

// SearchWeights is the weight of each lane. At least one must not be 0. An omitted weight is 1.
type SearchWeights struct {
	Text   *float64 `json:"text,omitempty"`
	Vector *float64 `json:"vector,omitempty"`

	// 0: results are ranked by words and meaning only.
	Graph *float64 `json:"graph,omitempty"`
}

// Series is a series with the number of its points.
type Series struct {
	ID         string    `json:"id"`
	SourceID   string    `json:"sourceId"`
	SourceName string    `json:"sourceName"`
	Metric     string    `json:"metric"`
	Kind       ValueKind `json:"kind"`
	Unit       string    `json:"unit"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags map[string]string `json:"tags"`

	// The oldest point's timestamp.
	FirstSeen time.Time `json:"firstSeen"`

	// The newest point's timestamp.
	LastSeen time.Time `json:"lastSeen"`

	// Number of points. Overwritten and deleted points do not count.
	Count int `json:"count"`
}

// Source is a source of points.
type Source struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`

	// The node that the source belongs to. Its existence is not checked.
	NodeID string `json:"nodeId"`

	// The unit of metrics without a unit.
	Unit string `json:"unit"`

	// Descriptive: any metric can be ingested.
	Metrics []SourceMetric `json:"metrics"`

	// Keys have 1 to 256 characters, values up to 1,024.
	Tags map[string]string `json:"tags"`

	// The number of days of 24 hours for which points are kept, by their timestamps. null: the retention of the
	// workspace. If both are set, the shorter one applies. No response contains points after their retention ends, and
	// they are removed in the background. On arrival, older points are rejected. A longer retention restores nothing:
	// points that a shorter retention expired may already be removed.
	RetentionDays *int `json:"retentionDays"`

	// How often points are expected.
	IntervalSeconds *float64  `json:"intervalSeconds"`
	CreatedAt       time.Time `json:"createdAt"`
	UpdatedAt       time.Time `json:"updatedAt"`

	// Incremented by one at each change.
	Version int `json:"version"`

	// When the newest request with points of the source was received, or up to a second earlier; null: there was none,
	// or it is unknown.
	LastSeenAt time.Time `json:"lastSeenAt"`

	// `stale`: no points for three intervals (five minutes without an interval). `never`: no points yet. null while the
	// point store is unavailable. One of: active, stale, never.
	Status string `json:"status"`
}

// SourceMetric is a description of a metric.
type SourceMetric struct {
	Name        string `json:"name"`
	Unit        string `json:"unit,omitempty"`
	Description string `json:"description,omitempty"`
}

// SourcePatch has the changes of a source. Fields that are not set do not change. Tags are merged.
type SourcePatch struct {
	ExpectedVersion Field[int]                `json:"expectedVersion,omitzero"`
	Name            Field[string]             `json:"name,omitzero"`
	Description     Field[string]             `json:"description,omitzero"`
	NodeID          Field[string]             `json:"nodeId,omitzero"`
	Unit            Field[string]             `json:"unit,omitzero"`
	Metrics         Field[[]SourceMetric]     `json:"metrics,omitzero"`
	Tags            Field[map[string]*string] `json:"tags,omitzero"`
	RetentionDays   Field[int]                `json:"retentionDays,omitzero"`
	IntervalSeconds Field[float64]            `json:"intervalSeconds,omitzero"`
}

// Step is one change of a resource in a batch.
type Step struct {
	Type    CommandType `json:"type"`
	Node    *Node       `json:"node,omitempty"`
	Edge    *Edge       `json:"edge,omitempty"`
	Cascade *Cascade    `json:"cascade,omitempty"`
}

// StoredRuleFile is a file of rules that was stored, or checked: then it has no version and no times.
type StoredRuleFile struct {
	Name      string    `json:"name"`
	Groups    int       `json:"groups"`
	Rules     int       `json:"rules"`
	Version   int       `json:"version,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// Subgraph is a set of nodes with the edges between them.
type Subgraph struct {
	Nodes []SubgraphNode `json:"nodes"`
	Edges []Edge         `json:"edges"`

	// Whether nodes or edges may be missing.
	Truncated bool `json:"truncated"`

	// Only in a response as of a moment: the sequence of the last change that the state includes.
	AsOfSequence int64 `json:"asOfSequence,omitempty"`
}

// SubgraphNode is a node of a subgraph.
type SubgraphNode struct {
	Node Node `json:"node"`

	// Number of edges to the nearest given node.
	Depth int `json:"depth"`
}

// TextIndexStatus is the text index. It is separate from the vector index.
type TextIndexStatus struct {
	// Nodes in the text index.
	Indexed int `json:"indexed"`

	// The index is being built from the nodes.
	Filling bool     `json:"filling"`
	Lag     IndexLag `json:"lag"`
}

// TimestampRange is a range of timestamps of documents. A document's own node and its passages pass if its timestamp
// is in it. Nodes of documents without a timestamp, and nodes without a document, do not pass.
type TimestampRange struct {
	// Inclusive, RFC 3339. Omitted: no limit.
	From time.Time `json:"from,omitzero"`

	// Exclusive, RFC 3339, after `from`. Omitted: no limit.
	To time.Time `json:"to,omitzero"`
}

// TypeCount is the number of nodes or edges of a type.
type TypeCount struct {
	// An entity type or a relation type.
	Type string `json:"type"`

	// Number of nodes or edges of the type.
	Count int64 `json:"count"`
}

// TypeCounts is the numbers of nodes or edges by type.
type TypeCounts struct {
	// Number of all nodes or edges.
	Total int64 `json:"total"`

	// The most frequent types, first the most frequent. Equally frequent ones are sorted by name.
	Types []TypeCount `json:"types"`

	// Number of the types that are not in `types`.
	OtherTypes int64 `json:"otherTypes"`

	// Number of the nodes or edges of these types.
	OtherCount int64 `json:"otherCount"`
}

// UpsertEffect is the effect of an upsert.
type UpsertEffect string

// ValueKind is the type of the values.
type ValueKind string

// Webhook is an address to which events are sent.
type Webhook struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"`

	// The types of events that are sent.
	Events []WebhookEventType `json:"events"`

	// Only alerts with all of these labels are sent. Names have 1 to 256 characters.
	Labels map[string]string `json:"labels"`

	// Only nodes of these types are sent; empty: all. Responses have each type once, sorted.
	EntityTypes []EntityType `json:"entityTypes"`

	// Only edges of these types are sent; empty: all.
	RelationTypes []string `json:"relationTypes"`

	// Only changes of these nodes, and of edges that begin or end at one of them, are sent; empty: all.
	NodeIDs []string `json:"nodeIds"`
	Enabled bool     `json:"enabled"`

	// Why the service disabled the webhook; null: it did not.
	DisabledReason string `json:"disabledReason"`

	// How many events were not queued, because 10,000 deliveries were pending (changes of the graph wait instead) or
	// the body was larger than 256 KiB.
	Dropped   int       `json:"dropped"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// WebhookDelivery is an event that is, or was, sent to a webhook.
type WebhookDelivery struct {
	ID string `json:"id"`

	// The `webhook-id` of its requests.
	EventID   string               `json:"eventId"`
	EventType string               `json:"eventType"`
	State     WebhookDeliveryState `json:"state"`
	Attempts  int                  `json:"attempts"`

	// null: none follows.
	NextAttemptAt time.Time `json:"nextAttemptAt"`

	// The status of the last answer; null: there was none.
	LastStatus *int `json:"lastStatus"`

	// Why the last attempt failed; null: it did not.
	LastError  string    `json:"lastError"`
	CreatedAt  time.Time `json:"createdAt"`
	FinishedAt time.Time `json:"finishedAt"`
}

// WebhookDeliveryState is the state of a delivery. Failed: no further attempt follows.
type WebhookDeliveryState string

// WebhookEventType is the type of an event.
type WebhookEventType string

// WebhookPatch has the changes of a webhook. Fields that are not set do not change. Labels are merged.
type WebhookPatch struct {
	Name Field[string] `json:"name,omitzero"`
	URL  Field[string] `json:"url,omitzero"`

	// The types of events that are sent.
	Events Field[[]WebhookEventType] `json:"events,omitzero"`

	// Merged with the labels.
	Labels        Field[map[string]*string] `json:"labels,omitzero"`
	EntityTypes   Field[[]EntityType]       `json:"entityTypes,omitzero"`
	RelationTypes Field[[]string]           `json:"relationTypes,omitzero"`
	NodeIDs       Field[[]string]           `json:"nodeIds,omitzero"`
	Enabled       Field[bool]               `json:"enabled,omitzero"`
}

// WebhookWithSecret is a webhook with its secret.
type WebhookWithSecret struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"`

	// The types of events that are sent.
	Events []WebhookEventType `json:"events"`

	// Only alerts with all of these labels are sent. Names have 1 to 256 characters.
	Labels map[string]string `json:"labels"`

	// Only nodes of these types are sent; empty: all. Responses have each type once, sorted.
	EntityTypes []EntityType `json:"entityTypes"`

	// Only edges of these types are sent; empty: all.
	RelationTypes []string `json:"relationTypes"`

	// Only changes of these nodes, and of edges that begin or end at one of them, are sent; empty: all.
	NodeIDs []string `json:"nodeIds"`
	Enabled bool     `json:"enabled"`

	// Why the service disabled the webhook; null: it did not.
	DisabledReason string `json:"disabledReason"`

	// How many events were not queued, because 10,000 deliveries were pending (changes of the graph wait instead) or
	// the body was larger than 256 KiB.
	Dropped   int       `json:"dropped"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	// The key of the signatures: 32 bytes in base64 after `whsec_`.
	Secret string `json:"secret"`
}
