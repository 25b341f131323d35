// A stand-in for your own accounts, or for an identity provider.
export async function checkPassword(user: string, password: string): Promise<string | undefined> {
  return user === "ada" && password === "lovelace" ? user : undefined;
}
