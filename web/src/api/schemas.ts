// The types of the API documents in ../../schemas, which `npm run types` generates.

import type { components as admin } from '../../generated/admin'
import type { components as api, operations } from '../../generated/openapi'

/** The operator API: schemas/admin.yaml. */
export type AdminSchemas = admin['schemas']
/** The public API: schemas/openapi.yaml. */
export type ApiSchemas = api['schemas']
/** The parameters of a query of points. */
export type QueryParameters = NonNullable<operations['query']['parameters']['query']>
