package livegraph

import "net/http"

// The routes of the API that methods use. A test compares them with the OpenAPI document.
var (
	me = operation{http.MethodGet, "/api/me"}

	listNodes     = operation{http.MethodGet, "/api/queries/nodes"}
	getNode       = operation{http.MethodGet, "/api/queries/nodes/{id}"}
	listNeighbors = operation{http.MethodGet, "/api/queries/nodes/{id}/neighbors"}
	listPaths     = operation{http.MethodGet, "/api/queries/paths"}
	getSubgraph   = operation{http.MethodGet, "/api/queries/subgraph"}
	getCounts     = operation{http.MethodGet, "/api/queries/counts"}
	matchPattern  = operation{http.MethodPost, "/api/queries/patterns"}
	listEdges     = operation{http.MethodGet, "/api/queries/edges"}
	getEdge       = operation{http.MethodGet, "/api/queries/edges/{id}"}

	listHistory      = operation{http.MethodGet, "/api/queries/history"}
	listCascadeEdges = operation{http.MethodGet, "/api/queries/history/{sequence}/edges"}
	streamEvents     = operation{http.MethodGet, "/api/queries/events"}

	executeCommand = operation{http.MethodPost, "/api/commands/execute"}
	executeBatch   = operation{http.MethodPost, "/api/commands/batch"}
	getCommand     = operation{http.MethodGet, "/api/commands/{id}"}

	listAnalyses   = operation{http.MethodGet, "/api/analyses"}
	createAnalysis = operation{http.MethodPost, "/api/analyses"}
	getAnalysis    = operation{http.MethodGet, "/api/analyses/{id}"}
	cancelAnalysis = operation{http.MethodPost, "/api/analyses/{id}/cancel"}

	listDocuments  = operation{http.MethodGet, "/api/documents"}
	putDocuments   = operation{http.MethodPost, "/api/documents"}
	getDocument    = operation{http.MethodGet, "/api/documents/{id}"}
	deleteDocument = operation{http.MethodDelete, "/api/documents/{id}"}

	listSources  = operation{http.MethodGet, "/api/live-data/sources"}
	createSource = operation{http.MethodPost, "/api/live-data/sources"}
	getSource    = operation{http.MethodGet, "/api/live-data/sources/{id}"}
	patchSource  = operation{http.MethodPatch, "/api/live-data/sources/{id}"}
	deleteSource = operation{http.MethodDelete, "/api/live-data/sources/{id}"}

	ingest       = operation{http.MethodPost, "/api/live-data/ingest"}
	queryPoints  = operation{http.MethodGet, "/api/live-data/query"}
	listSeries   = operation{http.MethodGet, "/api/live-data/series"}
	streamPoints = operation{http.MethodGet, "/api/live-data/stream"}
	deletePoints = operation{http.MethodDelete, "/api/live-data/points"}

	search       = operation{http.MethodPost, "/api/rag/search"}
	hybridSearch = operation{http.MethodPost, "/api/rag/hybrid-search"}
	answer       = operation{http.MethodPost, "/api/rag/answer"}
	indexStatus  = operation{http.MethodGet, "/api/rag/index/status"}

	listSavedQueries = operation{http.MethodGet, "/api/rag/queries"}
	createSavedQuery = operation{http.MethodPost, "/api/rag/queries"}
	getSavedQuery    = operation{http.MethodGet, "/api/rag/queries/{id}"}
	patchSavedQuery  = operation{http.MethodPatch, "/api/rag/queries/{id}"}
	deleteSavedQuery = operation{http.MethodDelete, "/api/rag/queries/{id}"}
	runSavedQuery    = operation{http.MethodPost, "/api/rag/queries/{id}/run"}

	promQuery      = operation{http.MethodPost, "/prometheus/api/v1/query"}
	promQueryRange = operation{http.MethodPost, "/prometheus/api/v1/query_range"}

	listRuleFiles  = operation{http.MethodGet, "/api/rules"}
	getRuleFile    = operation{http.MethodGet, "/api/rules/{name}"}
	putRuleFile    = operation{http.MethodPut, "/api/rules/{name}"}
	deleteRuleFile = operation{http.MethodDelete, "/api/rules/{name}"}
	listAlerts     = operation{http.MethodGet, "/api/alerts"}

	getAlertmanagers = operation{http.MethodGet, "/api/alertmanagers"}
	setAlertmanagers = operation{http.MethodPut, "/api/alertmanagers"}

	listWebhooks          = operation{http.MethodGet, "/api/webhooks"}
	createWebhook         = operation{http.MethodPost, "/api/webhooks"}
	getWebhook            = operation{http.MethodGet, "/api/webhooks/{id}"}
	patchWebhook          = operation{http.MethodPatch, "/api/webhooks/{id}"}
	deleteWebhook         = operation{http.MethodDelete, "/api/webhooks/{id}"}
	rollWebhookSecret     = operation{http.MethodPost, "/api/webhooks/{id}/roll-secret"}
	testWebhook           = operation{http.MethodPost, "/api/webhooks/{id}/test"}
	listWebhookDeliveries = operation{http.MethodGet, "/api/webhooks/{id}/deliveries"}
	redeliverWebhook      = operation{http.MethodPost, "/api/webhooks/{id}/deliveries/{deliveryId}/redeliver"}
)
