"""Which file of published weights is taken: the one whose whole SHA-256 is known, here or by what this user trusted.

torchvision publishes the first digits of a file's SHA-256 in its name, and timm none. A file that fits eight digits can
be made, so one that is known by no more is downloaded, or taken from the cache, only if the user says so. What came
then is remembered in the user's own configuration (models.trust), and from then on no other file is taken.
"""

from __future__ import annotations

from replab.errors import ModelError
from replab.models import trust

WHOLE = 64  # hexadecimal digits

# As public sources give them beside the file's name, or several of them alike: docs/security.md has the rule.
SHA256 = {
    "alexnet-owt-7be5be79.pth": "7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02",
    "convnext_base-6075fbad.pth": "6075fbad31c688f9ed013922a59daf0fc2f4dc12e6e43bc01fa840c7bd1ca2cd",
    "convnext_small-0c510722.pth": "0c510722adfd92966a2bd72b92f785ca05966bbac03cafe2f7a90b1f54bfab9a",
    "convnext_tiny-983f1562.pth": "983f1562536e84ff750a1576fb08e54de751dbf2e17c0d8a4a13704341fdcd3d",
    "densenet121-a639ec97.pth": "a639ec97d7c33b07ae66f0b5fb7d0192f95a3b11b7576c66c0126c2a727c4395",
    "densenet161-8d451a50.pth": "8d451a50bad6b9a83f477126c443716882a17af26e94d338154b058fb2dfd359",
    "efficientnet_b0_rwightman-7f5810bc.pth": "7f5810bc96def8f7552d5b7e68d53c4786f81167d28291b21c0d90e1fca14934",
    "efficientnet_b1-c27df63c.pth": "c27df63ce6eb17ef8bcea58922fd3a254cba910c720f41ee89d64d99fb7a4ddf",
    "efficientnet_b2_rwightman-c35c1473.pth": "c35c147384e385a5bab5a8eabdabbe5a3df0487ee4a554108626ae474a5bf755",
    "efficientnet_b3_rwightman-b3899882.pth": "b3899882250c22946d0229d266049fcd133c169233530b36b9ffa7983988362f",
    "efficientnet_b4_rwightman-23ab8bcd.pth": "23ab8bcd5bdbef61a7a43b91adcad81f622fd7f36fb4935a569828d77888c44e",
    "efficientnet_b5_lukemelas-1a07897c.pth": "1a07897c0d357db7981640f6be44a63420f11deb932344a69768b62ebe272946",
    "efficientnet_b6_lukemelas-24a108a5.pth": "24a108a596a00ad522bdfb9a2d98a9bd31819dfd7e37dd96bad6bb5bc00d6015",
    "efficientnet_b7_lukemelas-c5b4e57e.pth": "c5b4e57e0da1a10bb4f8a5b410dd3b7b6e7461f9b757209be29409707c3d87dd",
    "efficientnet_v2_s-dd5fe13b.pth": "dd5fe13b1d60ec15317ccc8ca158186e134d3366c3dde9cb9a4e301f2dc66c74",
    "googlenet-1378be20.pth": "1378be20a8e875cf1568b8a71654e704449655e34711a959a38b04fb34905cef",
    "inception_v3_google-0cc3c7bd.pth": "0cc3c7bd75056d25e46cba549dc184522069b81e9787eff6df84f397bd52a5ef",
    "maxvit_t-bc5ab103.pth": "bc5ab103d47a7c6c02dc35bf65796b3a6cccf3d51bce330326dbdc634a3ac0e1",
    "mnasnet1.0_top1_73.512-f206786ef8.pth": "f206786ef8a6d33af1091698bd667528dd506020f45e65bc4d4f00ce4e9990f0",
    "mobilenet_v2-7ebf99e0.pth": "7ebf99e03e254b273379b23edca7ec0da9f48273b23a332b93c1c99d49e86e8f",
    "mobilenet_v3_large-5c1a4163.pth": "5c1a416349c4cf298f2a6a5e2600ed0ee55e604713578f5e74e6bc8bcaef7997",
    "mobilenet_v3_small-047dcff4.pth": "047dcff4addef86ea5bc2eff13c9614dc11f47ab1160d0a71a25e7db994f4e1f",
    "regnet_y_3_2gf-9180c971.pth": "9180c971ec98fcbe80c86a69724e6738acc91618d526b1172a30fcf0c8f1030f",
    "resnet101-cd907fc2.pth": "cd907fc2a0de2292b2ba2b27d2216bc672d84632d1cf20058d01c0c03b5e020e",
    "resnet18-f37072fd.pth": "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
    "resnet34-b627a593.pth": "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f",
    "resnet50-11ad3fa6.pth": "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca",
    "squeezenet1_1-b8a52dc0.pth": "b8a52dc049b60e4b6ab68ad0df457362afab8b6304b2febdc1650a5dab4d7e7b",
    "swin_t-704ceda3.pth": "704ceda373461b0a224fcdddd75cd2a5e9f8064512ed47adbddef7f343fd147b",
    "vgg11_bn-6002323d.pth": "6002323d9413ae02f657473d3ecbbd7f86ee496b8a0dc8dc6140a639a0fcf13d",
    "vgg16-397923af.pth": "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
    "vgg16_bn-6c64b313.pth": "6c64b3138f2f4fcb3bcc4cafde11619c4f440eb1631787e93a682fd88305888a",
    "vgg19-dcbb9e9d.pth": "dcbb9e9dad569fff7a846263a77324fc34978fea2bfb039c012d710e1776ae44",
    "vgg19_bn-c79401a0.pth": "c79401a0cf3cb42714e4182f5868c7a6f4f4534f5df9e956e2bb2098de41cbb6",
    "vit_b_16-c867db91.pth": "c867db91d3e12c6cbadabb610d73c24a546bf82d8c03a9fea34f43a712ddb0e9",
    "wide_resnet50_2-9ba9bcbe.pth": "9ba9bcbebc349d733a72eb7608143fd754e4689ac8d8ce2916ca0bdff6443950",
}


def accepted(file: str, digits: str, model: str, asked: trust.Trust = False) -> str:
    """The SHA-256 that `file` must have; of one that is not known and that the user trusts, the published `digits`."""
    known = SHA256.get(file) or trust.remembered(_named(file))
    if len(known) == WHOLE and known.startswith(digits):
        return known
    lack = f"only {digits} of its SHA-256 is known" if digits else "its SHA-256 is not known"
    if not (asked(f"{file}: {lack}") if callable(asked) else asked):
        raise ModelError(
            f"{file} is not taken unasked: {lack}; replab run {model} --pretrained --trust takes it and remembers its"
            " hash, or --weights PATH names a file of yours"
        )
    return digits


def took(file: str, whole: str, sha256: str) -> None:
    """A file with the hash `whole` was taken, which was to begin `sha256`: what was trusted is remembered."""
    if len(sha256) < WHOLE:
        trust.remember(whole, _named(file))


def _named(file: str) -> str:
    return f"weights:{file}"  # a function of a trusted text has no colon
