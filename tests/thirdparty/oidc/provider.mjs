// A certified OpenID provider with two people, for tests/integration/test_oidc.py and tests/browser/test_oidc.py. It asks for a name on its own page,
// and whoever gives one that it knows is let in.

import { createServer } from "node:http";
import Provider from "oidc-provider";

const [redirect, port = "0"] = process.argv.slice(2);
const PEOPLE = {
  ada: { preferred_username: "ada", groups: ["family"] },
  cleo: { preferred_username: "cleo", groups: ["others"] },
};
const server = createServer();

server.listen(Number(port), "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "hermit", client_secret: "s3cret:of/the client", redirect_uris: [redirect], scope: "openid profile email" }],
    pkce: { required: () => true },
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email"] },
    cookies: { keys: ["a test's key"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => PEOPLE[sub] && { accountId: sub, claims: () => ({ sub, ...PEOPLE[sub] }) },
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
  const callback = provider.callback();
  server.on("request", async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    if (request.method === "POST") {
      let body = "";
      for await (const piece of request) body += piece;
      const name = new URLSearchParams(body).get("name");
      const result = PEOPLE[name] ? { login: { accountId: name } } : { error: "access_denied", error_description: "nobody of that name" };
      return provider.interactionFinished(request, response, result);
    }
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end('<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,"><form method="post"><label>Name at the provider <input name="name"></label><button>Sign in</button></form></html>');
  });
  console.log(`listening on ${issuer}`);
});
