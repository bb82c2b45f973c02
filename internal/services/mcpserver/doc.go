// Package mcpserver offers a workspace to language models by the Model Context Protocol
// (https://modelcontextprotocol.io): tools that search, read the graph, query points and execute commands, and
// resources that describe the workspace. The command `livegraph mcp` and the route /mcp of the API use it.
//
// It calls the routes of the API over HTTP, so that scopes, limits, the audit log and errors are those of the routes.
// It offers only tools whose scopes the key has. Answers are small enough for the context of a model: lists end early
// and long texts are cut, and the answer has the arguments that continue it. Nodes and sources are cited by their ids.
package mcpserver
