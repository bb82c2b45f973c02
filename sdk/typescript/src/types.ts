/** The types of requests and responses. They are those of the contract in schema.ts, which is generated. */

import type { components } from './schema.js'

/** All schemas of the contract by name. */
export type Schemas = components['schemas']

export type Account = Schemas['Account']
export type Alert = Schemas['Alert']
export type Alertmanager = Schemas['Alertmanager']
export type Analysis = Schemas['Analysis']
export type Answer = Schemas['Answer']
export type AnswerCitation = Schemas['AnswerCitation']
export type AnswerQuery = Schemas['AnswerQuery']
export type AnswerSentence = Schemas['AnswerSentence']
export type BatchResult = Schemas['BatchResult']
export type CascadeEdges = Schemas['CascadeEdges']
export type Change = Schemas['Change']
export type Command = Schemas['Command']
export type CommandResult = Schemas['CommandResult']
export type CommandState = Schemas['CommandState']
export type CreateEdge = Schemas['CreateEdge']
export type CreateNode = Schemas['CreateNode']
export type DeletedDocument = Schemas['DeleteDocumentAnswer']['data']
export type Document = Schemas['Document']
export type Edge = Schemas['Edge']
export type EntityType = Schemas['EntityType']
export type ErrorDetails = Schemas['ErrorDetails']
export type GraphCounts = Schemas['GraphCounts']
export type HybridHit = Schemas['HybridHit']
export type HybridQuery = Schemas['HybridQuery']
export type IndexStatus = Schemas['IndexStatus']
export type IngestAnswer = Schemas['IngestAnswer']['data']
export type ListedRuleFile = Schemas['ListedRuleFile']
export type Meta = Schemas['Meta']
export type Neighbor = Schemas['Neighbor']
export type NeighborsMeta = Schemas['NeighborList']['meta']
export type NewAlertmanager = Schemas['NewAlertmanager']
export type NewSavedQuery = Schemas['NewSavedQuery']
export type NewSource = Schemas['NewSource']
export type NewWebhook = Schemas['NewWebhook']
export type Node = Schemas['Node']
export type Path = Schemas['Path']
export type PathsMeta = Schemas['PathList']['meta']
export type Pattern = Schemas['Pattern']
export type PatternMatches = Schemas['PatternMatches']
export type PointRows = Schemas['PointRows']
export type PointsDeletion = Schemas['PointsDeletionAnswer']['data']
export type PointsMeta = Schemas['QueryAnswer']['meta']
export type PointValue = Schemas['PointValue']
export type Precision = Schemas['Precision']
export type LinePrecision = Schemas['LinePrecision']
export type Problem = Schemas['Problem']
export type PrometheusResult = Schemas['PrometheusResult']
export type PutDocumentResult = Schemas['PutDocumentResult']
export type Rejection = Schemas['Rejection']
export type RuleFile = Schemas['RuleFileAnswer']['data']
export type RunSavedQuery = Schemas['RunSavedQuery']
export type SavedQuery = Schemas['SavedQuery']
export type DocumentSort = Schemas['DocumentSort']
export type SavedQueryKind = Schemas['SavedQueryKind']
/** The fields of a saved query that an update changes, a merge patch. */
export type SavedQueryPatch = Schemas['SavedQueryPatch']
/** Which results a reranking model orders again. */
export type RerankOptions = Schemas['RerankOptions']
/** The reranking of the results of a search. */
export type Reranking = Schemas['Reranking']
/** The counted values of a field of the results of a search. */
export type SearchFacet = Schemas['SearchFacet']
export type SearchHit = Schemas['SearchHit']
export type SearchMeta = Schemas['SearchMeta']
export type SearchQuery = Schemas['SearchQuery']
export type Series = Schemas['Series']
export type Source = Schemas['Source']
export type SourcePatch = Schemas['SourcePatch']
/** A file of rules without its text. With `dryRun` it has no version and no times. */
export type StoredRuleFile = Schemas['PutRuleFileAnswer']['data']
export type Subgraph = Schemas['Subgraph']
export type Tags = Schemas['Tags']
export type UpsertEdge = Schemas['UpsertEdge']
export type UpsertNode = Schemas['UpsertNode']
export type Webhook = Schemas['Webhook']
/** The fields of a webhook that an update changes, a merge patch. */
export type WebhookChanges = Schemas['WebhookPatch']
export type WebhookDelivery = Schemas['WebhookDelivery']
export type WebhookWithSecret = Schemas['WebhookWithSecret']
/** The fields of a node that an update changes. `properties` is a merge patch: null removes a property. */
export type NodeChanges = Omit<Schemas['UpdateNode'], 'id'>
/** The fields of an edge that an update changes. `properties` is a merge patch: null removes a property. */
export type EdgeChanges = Omit<Schemas['UpdateEdge'], 'id'>

/** A time: a Date, or a text in RFC 3339; in queries of points also a relative time such as `-15m`. */
export type Time = Date | string

/** A point to write. A timestamp that is a number has the precision of the request. */
export type NewPoint = Omit<Schemas['Point'], 'timestamp'> & { timestamp?: Time | number }

/** Points of a series to write, as columns. */
export type NewSeries = Omit<Schemas['PointSeries'], 'timestamps' | 'values'> & {
  timestamps?: readonly (Time | number)[]
  values: readonly PointValue[]
}

type DocumentFields = Omit<Schemas['NewDocument'], 'text' | 'data' | 'contentType' | 'timestamp'> & {
  /** The time of the document. */
  timestamp?: Time
}

/** A document to write: a text, or a file with its content type. */
export type NewAnalysis = Schemas['NewAnalysis']
export type NewDocument = DocumentFields &
  (
    | { text: string; contentType?: string; data?: never }
    | {
        /** The bytes of a file, or their base64. */
        data: Uint8Array | string
        /** `application/pdf`, or the type of a .docx, .pptx, .xlsx, .odt, .odp or .ods file. */
        contentType: string
        text?: never
      }
  )
