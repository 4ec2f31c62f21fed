"""Whose doing an exception is that Harbor recorded, by the name of its type.

Harbor itself decides with such names what to retry and which rewards are valid
(``harbor.models.trial.error_policy``, 0.26). An exception that is unknown here is nobody's known doing:
Harbor keeps its reward in the mean, the protocol counts it as an infrastructure error.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

__all__ = ["Cause", "cause_of"]


class Cause(Enum):
    """Whose doing it is."""

    TIMEOUT = "the agent ran out of time"
    AGENT = "the agent failed"
    VERIFIER = "the verifier failed"
    INFRASTRUCTURE = "the surroundings failed"
    CANCELLED = "ended from outside"
    UNKNOWN = "unknown"


_NAMES: dict[Cause, str] = {
    Cause.TIMEOUT: "AgentTimeoutError",
    Cause.AGENT: """
        NonZeroAgentExitCodeError ContextWindowExceededError OutputTokenExceededError
        ContextLengthExceededError OutputLengthExceededError AgentSafetyRefusalError
        ContentPolicyViolationError
    """,
    Cause.VERIFIER: """
        VerifierTimeoutError RewardFileNotFoundError RewardFileEmptyError VerifierOutputParseError
        AddTestsDirError DownloadVerifierDirError RegradeError
    """,
    Cause.INFRASTRUCTURE: """
        EnvironmentStartTimeoutError SandboxBuildFailedError AgentSetupTimeoutError HealthcheckError
        SandboxLikelyOutOfMemoryError MemoryLimitExceededError SSHAccessError GKEExecStreamClosedError
        GKEPodNotFoundError RuntimeRequestError
        ApiError ApiRateLimitError ApiInternalServerError ApiOverloadedError ApiConnectionClosedError
        ApiResponseStalledError UnknownApiError NetworkConnectionError ApiConnectionError
        ApiUsageLimitError RateLimitError InternalServerError ServiceUnavailableError APIConnectionError
        APIError Timeout
        UnsupportedModelParametersError BadRequestError UnprocessableEntityError UnsupportedParamsError
        APIResponseValidationError BudgetExceededError
        AgentAuthenticationError ModelNotFoundError ApiProviderResourceNotFoundError AuthenticationError
        PermissionDeniedError NotFoundError ServiceOperationsUnsupportedError VercelScopeError
        DspyImportError MissingExtraError
    """,
    Cause.CANCELLED: "CancelledError",
}
_CAUSES = {name: cause for cause, names in _NAMES.items() for name in names.split()}


def cause_of(exception_type: str, of_the_agent: Collection[str] = ()) -> Cause:
    """Whose doing an exception of this type is.

    Args:
        exception_type: The bare name of its class, as ``exception_type`` in ``result.json``.
        of_the_agent: Further names that are the agent's doing.
    """
    if exception_type in of_the_agent:
        return Cause.AGENT
    return _CAUSES.get(exception_type, Cause.UNKNOWN)
