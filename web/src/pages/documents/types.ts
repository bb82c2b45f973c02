// Names for the requests and responses of documents.

import type { ApiSchemas } from '@/api'

/** A document of a list. */
export type DocumentItem = ApiSchemas['Document']
export type Passage = ApiSchemas['DocumentPassage']
/** A document in a request. */
export type NewDocument = ApiSchemas['NewDocument']
export type PutResult = ApiSchemas['PutDocumentResult']
export type Deletion = ApiSchemas['DeleteDocumentAnswer']['data']
export type IndexStatus = ApiSchemas['IndexStatus']
