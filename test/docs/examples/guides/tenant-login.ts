import { createLogin } from "everthink/login";

/** Your table of customers, or a claim of the identity provider. */
export const tenantOf = (user: string) => user.split("@")[1] ?? "";

export const login = createLogin<Cloudflare.Env>({
  // The page of a person talks to an agent of their own, below their tenant.
  nameOf: (user) => `${tenantOf(user)}~${user}`,
  // Colleagues share "acme.example~team"; other tenants reach nothing of it.
  mayEnter: ({ user, route }) => route.name === `${tenantOf(user)}~${user}` || route.name === `${tenantOf(user)}~team`
});
