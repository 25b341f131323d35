// The offline model's failure when it is asked for one. No provider spoke here, so its words may be shown to people.
import { APICallError } from "ai";

const PLACE = "offline:built-in";

/** As a provider would refuse a request: final, so that the user does not wait for retries. */
export function failureOnPurpose(): APICallError {
  return new APICallError({
    message: "The offline model failed, as you asked.",
    url: PLACE,
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false
  });
}

export function isFailureOnPurpose(error: APICallError): boolean {
  return error.url === PLACE;
}
