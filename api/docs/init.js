// Renders the contract of the server that this page came from.
window.ui = SwaggerUIBundle({
  url: "/api/openapi.yaml",
  dom_id: "#contract",
  deepLinking: true,
  validatorUrl: null, // the default asks a server on the internet
  persistAuthorization: false, // a key does not belong in the browser's storage
  tryItOutEnabled: true,
});
