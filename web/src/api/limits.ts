/** Limits of the API that several pages check before they send a request. */
export const MAX_TAGS = 64
export const MAX_TAG_LENGTH = 128
