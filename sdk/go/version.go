package livegraph

// Version is the version of the package.
const Version = "0.1.0"

const userAgent = "livegraph-go/" + Version
